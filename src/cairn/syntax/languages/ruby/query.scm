; Definitions.
(module name: (scope_resolution scope: (_)? @container name: (constant) @name) body: (_)? @value "end" @value) @def.module
(module name: (constant) @name body: (_)? @value "end" @value) @def.module
(class name: (scope_resolution scope: (_)? @container name: (constant) @name) body: (_)? @value "end" @value) @def.class
(class name: (constant) @name body: (_)? @value "end" @value) @def.class
(program (method name: (_) @name body: (_)? @value "end"? @value) @def.function)
(method name: (_) @name body: (_)? @value "end"? @value) @def.method
(singleton_method object: (constant) @container name: (_) @name body: (_)? @value "end"? @value) @def.method
(singleton_method name: (_) @name body: (_)? @value "end"? @value) @def.method
(alias name: (_) @name) @def.method
; A constant that is made by a class builder is a class: `Point = Struct.new(:x, :y) do ... end`.
(assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_new) @value
  (#any-of? @_maker "Struct" "Class" "Data") (#any-of? @_new "new" "define")) @def.class
(assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_new) @value
  (#eq? @_maker "Module") (#eq? @_new "new")) @def.module
(assignment left: (constant) @name) @def.constant
(assignment left: (scope_resolution scope: (_)? @container name: (constant) @name)) @def.constant
(assignment left: (left_assignment_list (constant) @name)) @def.constant
(operator_assignment left: (constant) @name) @def.constant
(program (assignment left: (global_variable) @name) @def.variable)
(call !receiver method: (identifier) @_attr arguments: (argument_list [(simple_symbol) (string)] @name)
  (#any-of? @_attr "attr_accessor" "attr_reader" "attr_writer" "attr" "cattr_accessor" "mattr_accessor" "class_attribute")) @def.property
(call !receiver method: (identifier) @_define arguments: (argument_list . [(simple_symbol) (string)] @name)
  (#any-of? @_define "define_method" "define_singleton_method" "alias_method")) @def.method

(comment) @comment

; Uses. Loading a file and mixing in a module have their own roles.
(call !receiver method: (identifier) @_mix arguments: (argument_list (constant) @ref.base) (#any-of? @_mix "include" "extend" "prepend"))
(call !receiver method: (identifier) @_mix arguments: (argument_list (scope_resolution scope: (_) @receiver name: (constant) @ref.base)) (#any-of? @_mix "include" "extend" "prepend"))
(superclass (constant) @ref.base)
(superclass (scope_resolution scope: (_) @receiver name: (constant) @ref.base))
(call receiver: (_) @receiver method: [(identifier) (constant)] @ref.call)
(call !receiver method: [(identifier) (constant) (super)] @ref.call)
(super) @ref.call
(rescue exceptions: (exceptions (constant) @ref.type))
(rescue exceptions: (exceptions (scope_resolution scope: (_) @receiver name: (constant) @ref.type)))

; Imports.
(call !receiver method: (identifier) @_load arguments: (argument_list . (string) @module .) (#any-of? @_load "require" "require_relative" "load")) @import
(call !receiver method: (identifier) @_load arguments: (argument_list . (simple_symbol) @name . (string) @module .) (#eq? @_load "autoload")) @import

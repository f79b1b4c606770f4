; Definitions. The module header holds what follows it. A signature and the equations below it are one function.
(haskell (header module: (module) @name @level) @def.module)
(data_type name: (name) @name) @def.type
(data_type name: (prefix_id (operator) @name)) @def.type
(newtype name: (name) @name) @def.type
(type_synonym name: (name) @name) @def.type
(type_family name: (name) @name) @def.type
(data_family name: (name) @name) @def.type
(data_constructor constructor: (prefix name: (constructor) @name)) @def.constructor
(data_constructor constructor: (record name: (constructor) @name)) @def.constructor
(data_constructor constructor: (infix operator: (_) @name)) @def.constructor
(newtype_constructor name: (constructor) @name) @def.constructor
(gadt_constructor name: (constructor) @name) @def.constructor
(field name: (field_name (variable) @name)) @def.field
(class name: (name) @name declarations: (_)? @value) @def.trait
(instance patterns: (type_patterns . (name) @name) declarations: (_)? @value) @def.impl
(instance patterns: (type_patterns . (parens (apply constructor: (name) @name))) declarations: (_)? @value) @def.impl
(instance patterns: (type_patterns . (parens (apply constructor: (apply constructor: (name) @name)))) declarations: (_)? @value) @def.impl
(instance patterns: (type_patterns . (parens (_) @name)) declarations: (_)? @value) @def.impl
(instance patterns: (type_patterns . [(variable) (list) (tuple) (unit)] @name) declarations: (_)? @value) @def.impl
(declarations (signature name: (variable) @name @clause) @def.function)
(declarations (signature name: (prefix_id (operator) @name @clause)) @def.function)
(class_declarations (signature name: (variable) @name @clause) @def.method)
(class_declarations (signature name: (prefix_id (operator) @name @clause)) @def.method)
(class_declarations (signature names: (binding_list name: (variable) @name)) @def.method)
(local_binds (signature name: (variable) @name @clause) @def.function)
(foreign_import signature: (signature name: (variable) @name)) @def.function
(function name: (variable) @name @clause match: (_) @value) @def.function
(function name: (prefix_id (operator) @name @clause) match: (_) @value) @def.function
(function (infix operator: (operator) @name @clause) match: (_) @value) @def.function
(function (infix operator: (infix_id (variable) @name @clause)) match: (_) @value) @def.function
(declarations (bind name: (variable) @name @clause match: (_) @value) @def.function)
(instance_declarations (bind name: (variable) @name @clause match: (_) @value) @def.method)
(class_declarations (bind name: (variable) @name @clause match: (_) @value) @def.method)
(pattern_synonym (equation synonym: (apply function: (constructor) @name))) @def.function

(comment) @comment
(haddock) @comment
(pragma) @attached

; Uses.
(apply function: (variable) @ref.call)
(apply function: (constructor) @ref.call)
(apply function: (qualified module: (module) @receiver id: [(variable) (constructor)] @ref.call))
(infix operator: (infix_id (variable) @ref.call))
(infix operator: (infix_id (qualified module: (module) @receiver id: (variable) @ref.call)))
(infix left_operand: (variable) @ref.call operator: (operator) @_operator (#any-of? @_operator "$" "." "<$>" "$!" "<&>"))
(infix right_operand: (variable) @ref.call operator: (operator) @_operator (#any-of? @_operator "." "=<<" "&" ">>="))
(exp . (variable) @ref.call .)
(record (constructor) @ref.call)
(instance name: (name) @ref.base)
(deriving classes: (name) @ref.base)
(deriving classes: (tuple (name) @ref.base))
(deriving_instance name: (name) @ref.base)
(function parameter: (name) @ref.type)
(function result: (name) @ref.type)
(apply constructor: (name) @ref.type)
(apply constructor: (qualified module: (module) @receiver id: (name) @ref.type))
(apply argument: (name) @ref.type)
(apply argument: (qualified module: (module) @receiver id: (name) @ref.type))
(signature type: (name) @ref.type)
(field type: (name) @ref.type)
(prefix field: (name) @ref.type)
(list (name) @ref.type)
(type_synonym type: (name) @ref.type)

; Imports.
(import) @import.haskell

; Exports. `module A` in the list of module A means everything.
(export variable: (variable) @export)
(export type: (name) @export)
(export operator: (prefix_id (operator) @export))
(exports (module_export module: (module) @export))

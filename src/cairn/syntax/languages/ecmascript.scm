; What JavaScript, TypeScript and TSX write alike. An `export` and its decorators belong to the span of what they export.

(export_statement declaration: (_) @inner) @around

; Functions and classes. A default export without a name is called `default`, as its importers do.
(export_statement "default" @name value: [
  (function_expression body: (_) @value)
  (arrow_function body: (_) @value)]) @def.function
(export_statement "default" @name value: (class body: (_) @value)) @def.class
(export_statement "default" @name value: [(object) (array) (call_expression) (new_expression)] @value) @def.variable
(function_declaration name: (_) @name) @def.function
(generator_function_declaration name: (_) @name) @def.function
(class_declaration name: (_) @name) @def.class

; A function or a class that is bound to a name is called by that name, wherever it is.
(lexical_declaration . (variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)
  (generator_function body: (_) @value)]) .) @def.function
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)
  (generator_function body: (_) @value)]) @def.function
(variable_declarator name: (identifier) @name value: (class body: (_) @value)) @def.class
(arguments (function_expression name: (identifier) @name) @def.function)
(return_statement (function_expression name: (identifier) @name) @def.function)

; CommonJS.
(assignment_expression left: (member_expression property: (property_identifier) @_exports)
  right: (function_expression name: (identifier) @name) @def.function (#eq? @_exports "exports"))
(assignment_expression left: (member_expression property: (property_identifier) @_exports)
  right: (class name: (_) @name) @def.class (#eq? @_exports "exports"))
(assignment_expression
  left: (member_expression object: [(identifier) @_exports (member_expression property: (property_identifier) @_exports)] property: (property_identifier) @name)
  right: [
    (function_expression body: (_) @value)
    (arrow_function body: (_) @value)] (#eq? @_exports "exports")) @def.function
(assignment_expression
  left: (member_expression object: [(identifier) @_exports (member_expression property: (property_identifier) @_exports)] property: (property_identifier) @name)
  right: [(object) (array) (string) (template_string) (number) (true) (false) (call_expression) (new_expression) (class) (binary_expression)] @value
  (#eq? @_exports "exports")) @def.variable

; Functions hung onto something that has a name.
(assignment_expression
  left: (member_expression object: (member_expression object: [(identifier) @container (member_expression property: (property_identifier) @container)] property: (property_identifier) @_prototype) property: (property_identifier) @name)
  right: [
    (function_expression body: (_) @value)
    (arrow_function body: (_) @value)] (#eq? @_prototype "prototype")) @def.method
(assignment_expression
  left: (member_expression object: (member_expression object: [(identifier) @container (member_expression property: (property_identifier) @container)] property: (property_identifier) @_prototype) property: (property_identifier) @name)
  (#eq? @_prototype "prototype")) @def.property
(assignment_expression
  left: (member_expression object: (identifier) @container property: (property_identifier) @name)
  right: [
    (function_expression body: (_) @value)
    (generator_function body: (_) @value)
    (arrow_function body: (_) @value)]) @def.method
(assignment_expression
  left: (member_expression
    object: (member_expression object: [(identifier) @container (this) (member_expression)] property: (property_identifier) @container)
    property: (property_identifier) @name)
  right: [
    (function_expression body: (_) @value)
    (generator_function body: (_) @value)
    (arrow_function body: (_) @value)]) @def.method
(assignment_expression
  left: (member_expression object: (this) property: [(property_identifier) (private_property_identifier)] @name)
  right: [
    (function_expression body: (_) @value)
    (arrow_function body: (_) @value)]) @def.method

; Members of classes and of objects.
(method_definition ["get" "set"] name: (_) @name) @def.property
(method_definition name: (_) @name) @def.method
(variable_declarator value: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)]) @def.method))
(assignment_expression right: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)]) @def.method))
(export_statement value: (object (pair key: (_) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)]) @def.method))

; Names of a module.
(export_statement declaration: (lexical_declaration kind: _ @lead (variable_declarator name: [
  (identifier) @name
  (object_pattern (shorthand_property_identifier_pattern) @name)
  (object_pattern (pair_pattern value: (identifier) @name))
  (array_pattern (identifier) @name)] value: (_)? @value) @part) @def.variable)
(program (lexical_declaration kind: _ @lead (variable_declarator name: [
  (identifier) @name
  (object_pattern (shorthand_property_identifier_pattern) @name)
  (object_pattern (pair_pattern value: (identifier) @name))
  (array_pattern (identifier) @name)] value: (_)? @value) @part) @def.variable)
(export_statement declaration: (variable_declaration "var" @lead (variable_declarator name: (identifier) @name value: (_)? @value) @part) @def.variable)
(program (variable_declaration "var" @lead (variable_declarator name: [
  (identifier) @name
  (object_pattern (shorthand_property_identifier_pattern) @name)
  (object_pattern (pair_pattern value: (identifier) @name))] value: (_)? @value) @part) @def.variable)

; The table of names that a constant object is.
(export_statement declaration: (lexical_declaration (variable_declarator value: (object (pair key: [(property_identifier) (string)] @name) @def.property))))
(program (lexical_declaration (variable_declarator value: (object (pair key: [(property_identifier) (string)] @name) @def.property))))

(comment) @comment

; Uses. A decorator with arguments is a decorator first.
(decorator [
  (identifier) @ref.annotation
  (member_expression object: (_) @receiver property: (property_identifier) @ref.annotation)
  (call_expression function: (identifier) @ref.annotation)
  (call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @ref.annotation))])
(call_expression function: (identifier) @ref.call)
(call_expression function: (super) @ref.call)
(call_expression function: (member_expression object: (_) @receiver property: (_) @ref.call))
(new_expression constructor: (identifier) @ref.call)
(new_expression constructor: (member_expression object: (_) @receiver property: (_) @ref.call))

; Imports. What is exported from elsewhere is imported first.
(import_statement) @import.ecmascript
(export_statement source: (string)) @import.ecmascript
(call_expression function: (import) arguments: (arguments . (string) @module)) @import
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))
  (#eq? @_require "require")) @import
(variable_declarator name: (identifier) @alias
  value: (member_expression object: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module)) property: (property_identifier) @name)
  (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))
  (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @alias))
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))
  (#eq? @_require "require")) @import
(expression_statement (call_expression function: (identifier) @_require arguments: (arguments . (string) @module))
  (#eq? @_require "require")) @import

; Exports.
(program (export_statement declaration: [
  (function_declaration name: (_) @export)
  (generator_function_declaration name: (_) @export)
  (class_declaration name: (_) @export)]) @_statement (#not-match? @_statement "export\\s+default"))
(program (export_statement declaration: (_ (variable_declarator name: [
  (identifier) @export
  (object_pattern (shorthand_property_identifier_pattern) @export)
  (object_pattern (pair_pattern value: (identifier) @export))
  (array_pattern (identifier) @export)]))))
(program (export_statement "default" @export))
(program (export_statement [declaration: (_ name: (_) @exported) value: (identifier) @exported]))
(export_specifier alias: _ @export)
(export_specifier name: _ @export !alias)
(export_statement !source (export_clause (export_specifier name: (identifier) @exported)))
(export_statement [(namespace_export (_) @export) "*" @export])
(assignment_expression left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: [
    (identifier) @export
    (function_expression name: (identifier) @export)
    (class name: (_) @export)
    (object [
      (shorthand_property_identifier) @export
      (pair key: (property_identifier) @export)
      (method_definition name: (property_identifier) @export)])]
  (#eq? @_module "module") (#eq? @_exports "exports"))
(assignment_expression left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: (object (pair value: (identifier) @exported))
  (#eq? @_module "module") (#eq? @_exports "exports"))
(variable_declarator name: (identifier) @exported
  value: (assignment_expression left: [(identifier) @_exports (member_expression property: (property_identifier) @_exports)])
  (#eq? @_exports "exports"))
(assignment_expression
  left: (member_expression object: [(identifier) @_exports (member_expression property: (property_identifier) @_exports)] property: (property_identifier) @export)
  (#eq? @_exports "exports"))
(assignment_expression
  left: (member_expression object: [(identifier) @_exports (member_expression property: (property_identifier) @_exports)])
  right: (identifier) @exported
  (#eq? @_exports "exports"))

; What TypeScript adds to JavaScript. A declaration without a body (`declare`, an overload) is a definition too.
(ambient_declaration (_) @inner) @around
(abstract_class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(type_alias_declaration name: (_) @name) @def.type
(function_signature name: (_) @name) @def.function
(internal_module name: (_) @name) @def.namespace
(module name: (string) @name) @def.module
(module name: (_) @name) @def.namespace
(ambient_declaration (_ ["const" "let" "var"] @lead (variable_declarator name: (identifier) @name) @part) @def.variable)

; Members. A parameter of the constructor with a modifier is a field.
(public_field_definition name: (_) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)]) @def.method
(public_field_definition name: (_) @name) @def.field
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def.field
(optional_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def.field
(abstract_method_signature ["get" "set"] name: (_) @name) @def.property
(abstract_method_signature name: (_) @name) @def.method
(method_signature ["get" "set"] name: (_) @name) @def.property
(method_signature name: (_) @name) @def.method
(interface_body (property_signature name: (_) @name) @def.property)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @def.property))
(type_alias_declaration value: (intersection_type (object_type (property_signature name: (_) @name) @def.property)))
(enum_body name: (_) @name @def.enum_member)
(enum_assignment name: (_) @name) @def.enum_member

(class_body (decorator) @attached)

; Uses.
(extends_clause value: [
  (identifier) @ref.base
  (member_expression object: (_) @receiver property: (property_identifier) @ref.base)])
(implements_clause [
  (type_identifier) @ref.base
  (generic_type name: (type_identifier) @ref.base)
  (nested_type_identifier module: (_) @receiver name: (type_identifier) @ref.base)
  (generic_type name: (nested_type_identifier module: (_) @receiver name: (type_identifier) @ref.base))])
(extends_type_clause [
  (type_identifier) @ref.base
  (generic_type name: (type_identifier) @ref.base)
  (nested_type_identifier module: (_) @receiver name: (type_identifier) @ref.base)
  (generic_type name: (nested_type_identifier module: (_) @receiver name: (type_identifier) @ref.base))])
(nested_type_identifier module: (_) @receiver name: (type_identifier) @ref.type)
(type_identifier) @ref.type
(type_query (identifier) @ref.type)

; Imports and exports.
(import_require_clause (identifier) @alias source: (string) @module) @import
(import_alias (identifier) @alias (nested_identifier object: (_) @module property: (_) @name)) @import
(program (export_statement declaration: [
  (abstract_class_declaration name: (_) @export)
  (interface_declaration name: (_) @export)
  (enum_declaration name: (_) @export)
  (type_alias_declaration name: (_) @export)
  (function_signature name: (_) @export)
  (internal_module name: [(identifier) @export (nested_identifier . (identifier) @export)])
  (ambient_declaration (_ name: (_) @export))
  (import_alias . (identifier) @export)]) @_statement (#not-match? @_statement "export\\s+default"))
(program (export_statement "=" (identifier) @export))

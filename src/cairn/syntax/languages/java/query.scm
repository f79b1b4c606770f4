; Definitions. A package is all that follows its declaration, so that names are qualified as imports write them.
(package_declaration [(scoped_identifier) (identifier)] @name) @def.module @level
(module_declaration name: (_) @name) @def.module
(class_declaration name: (identifier) @name) @def.class
(record_declaration name: (identifier) @name) @def.class
(interface_declaration name: (identifier) @name) @def.interface
(annotation_type_declaration name: (identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(enum_constant name: (identifier) @name arguments: (_)? @value) @def.enum_member
(constructor_declaration name: (identifier) @name) @def.constructor
(compact_constructor_declaration name: (identifier) @name) @def.constructor
(method_declaration name: (identifier) @name) @def.method
(annotation_type_element_declaration name: (identifier) @name "default" @value) @def.method
(annotation_type_element_declaration name: (identifier) @name) @def.method
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @def.field))
(field_declaration type: (_) @lead declarator: (variable_declarator name: (identifier) @name value: (_)? @value) @part) @def.variable
(constant_declaration type: (_) @lead declarator: (variable_declarator name: (identifier) @name value: (_)? @value) @part) @def.constant
(line_comment) @comment
(block_comment) @comment

; Uses.
(method_invocation object: (_) @receiver name: (identifier) @ref.call)
(method_invocation !object name: (identifier) @ref.call)
(explicit_constructor_invocation constructor: (_) @ref.call)
(method_reference . (_) @receiver (identifier) @ref.call .)
(object_creation_expression type: [
  (type_identifier) @ref.call
  (generic_type (type_identifier) @ref.call)
  (scoped_type_identifier (_) @receiver (type_identifier) @ref.call .)
  (generic_type (scoped_type_identifier (_) @receiver (type_identifier) @ref.call .))])
(superclass [
  (type_identifier) @ref.base
  (generic_type (type_identifier) @ref.base)
  (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .)
  (generic_type (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .))])
(super_interfaces (type_list [
  (type_identifier) @ref.base
  (generic_type (type_identifier) @ref.base)
  (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .)
  (generic_type (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .))]))
(extends_interfaces (type_list [
  (type_identifier) @ref.base
  (generic_type (type_identifier) @ref.base)
  (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .)
  (generic_type (scoped_type_identifier (_) @receiver (type_identifier) @ref.base .))]))
(marker_annotation name: [(identifier) @ref.annotation (scoped_identifier scope: (_) @receiver name: (identifier) @ref.annotation)])
(annotation name: [(identifier) @ref.annotation (scoped_identifier scope: (_) @receiver name: (identifier) @ref.annotation)])
(scoped_type_identifier (_) @receiver (type_identifier) @ref.type .)
(type_identifier) @ref.type

; Imports.
(import_declaration (_) @module (asterisk) @name) @import
(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @name) .) @import
(requires_module_directive module: (_) @module) @import

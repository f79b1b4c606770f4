; Definitions. `namespace A;` holds what follows it, `namespace A { }` what is inside.
(namespace_definition name: (namespace_name) @name body: (compound_statement)) @def.namespace
(namespace_definition name: (namespace_name) @name @level !body) @def.namespace
(class_declaration name: (name) @name) @def.class
(interface_declaration name: (name) @name) @def.interface
(trait_declaration name: (name) @name) @def.trait
(enum_declaration name: (name) @name body: (_) @value) @def.enum
(enum_case name: (name) @name) @def.enum_member
(method_declaration name: (name) @name) @def.method
(function_definition name: (name) @name) @def.function
(property_promotion_parameter name: (variable_name (name) @name) default_value: (_)? @value) @def.property
(property_declaration type: (_) @lead (property_element name: (variable_name (name) @name) "="? @value) @part) @def.property
(property_declaration (property_element name: (variable_name (name) @name) "="? @value)) @def.property
(const_declaration "const" @lead type: (_)? @lead (const_element . (name) @name "=" @value) @part) @def.constant
(expression_statement (function_call_expression function: [(name) @_define (qualified_name . (name) @_define .)] @lead arguments: (arguments . (argument [
  (string (string_content) @name)
  (encapsed_string . (string_content) @name .)] @part))) (#eq? @_define "define")) @def.constant
(program (expression_statement (assignment_expression left: (variable_name (name) @name) right: [(anonymous_function body: (_) @value) (arrow_function body: (_) @value)]) @def.function))

(comment) @comment

; Uses.
(function_call_expression function: (name) @ref.call)
(function_call_expression function: (qualified_name prefix: (namespace_name)? @receiver (name) @ref.call .))
(function_call_expression function: (relative_name (name) @ref.call .))
(member_call_expression object: (_) @receiver name: (name) @ref.call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @ref.call)
(scoped_call_expression scope: (_) @receiver name: (name) @ref.call)
(object_creation_expression (name) @ref.call)
(object_creation_expression (qualified_name prefix: (namespace_name)? @receiver (name) @ref.call .))
(base_clause (name) @ref.base)
(base_clause (qualified_name prefix: (namespace_name)? @receiver (name) @ref.base .))
(class_interface_clause (name) @ref.base)
(class_interface_clause (qualified_name prefix: (namespace_name)? @receiver (name) @ref.base .))
(use_declaration (name) @ref.base)
(use_declaration (qualified_name prefix: (namespace_name)? @receiver (name) @ref.base .))
(attribute (name) @ref.annotation)
(attribute (qualified_name prefix: (namespace_name)? @receiver (name) @ref.annotation .))
(named_type (name) @ref.type)
(named_type (qualified_name prefix: (namespace_name)? @receiver (name) @ref.type .))
(class_constant_access_expression . (name) @ref.type)
(class_constant_access_expression . (qualified_name prefix: (namespace_name)? @receiver (name) @ref.type .))
(binary_expression operator: "instanceof" right: (name) @ref.type)

; Imports.
(namespace_use_declaration) @import.php
(require_expression (string) @module) @import
(require_once_expression (string) @module) @import
(include_expression (string) @module) @import
(include_once_expression (string) @module) @import
(require_expression (binary_expression) @module) @import
(require_once_expression (binary_expression) @module) @import
(include_expression (binary_expression) @module) @import
(include_once_expression (binary_expression) @module) @import

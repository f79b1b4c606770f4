; Definitions. A file-scoped namespace holds what follows it.
(file_scoped_namespace_declaration name: (_) @name @level) @def.namespace
(namespace_declaration name: (_) @name) @def.namespace
(class_declaration name: (identifier) @name) @def.class
(record_declaration "struct" name: (identifier) @name) @def.struct
(record_declaration name: (identifier) @name) @def.class
(struct_declaration name: (identifier) @name) @def.struct
(interface_declaration name: (identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(enum_member_declaration name: (identifier) @name) @def.enum_member
(delegate_declaration name: (identifier) @name) @def.type
(record_declaration (parameter_list (parameter name: (identifier) @name) @def.property))
(method_declaration (explicit_interface_specifier (_) @container) name: (identifier) @name) @def.method
(method_declaration name: (identifier) @name) @def.method
(local_function_statement name: (identifier) @name) @def.function
(constructor_declaration name: (identifier) @name) @def.constructor
(destructor_declaration "~" @name) @def.method
(operator_declaration operator: _ @name) @def.method
(conversion_operator_declaration type: (_) @name) @def.method
(indexer_declaration "this" @name accessors: (_) @value) @def.property
(indexer_declaration "this" @name) @def.property
(property_declaration (explicit_interface_specifier (_) @container) name: (identifier) @name accessors: (_) @value) @def.property
(property_declaration name: (identifier) @name accessors: (_) @value) @def.property
(property_declaration name: (identifier) @name) @def.property
(event_declaration name: (identifier) @name accessors: (_) @value) @def.property
(event_field_declaration (variable_declaration type: (_) @lead (variable_declarator name: (identifier) @name "="? @value) @part)) @def.property
(field_declaration (modifier "const") (variable_declaration type: (_) @lead (variable_declarator name: (identifier) @name "="? @value) @part)) @def.constant
(field_declaration (variable_declaration type: (_) @lead (variable_declarator name: (identifier) @name "="? @value) @part)) @def.field

(comment) @comment

; Uses.
(invocation_expression function: (identifier) @ref.call)
(invocation_expression function: (generic_name (identifier) @ref.call))
(invocation_expression function: (member_access_expression expression: (_) @receiver name: (identifier) @ref.call))
(invocation_expression function: (member_access_expression expression: (_) @receiver name: (generic_name (identifier) @ref.call)))
(invocation_expression function: (conditional_access_expression condition: (_) @receiver (member_binding_expression name: (identifier) @ref.call)))
(invocation_expression function: (conditional_access_expression condition: (_) @receiver (member_binding_expression name: (generic_name (identifier) @ref.call))))
(object_creation_expression type: (identifier) @ref.call)
(object_creation_expression type: (generic_name (identifier) @ref.call))
(object_creation_expression type: (qualified_name qualifier: (_) @receiver name: (identifier) @ref.call))
(object_creation_expression type: (qualified_name qualifier: (_) @receiver name: (generic_name (identifier) @ref.call)))
(constructor_initializer ["base" "this"] @ref.call)
(base_list (identifier) @ref.base)
(base_list (generic_name (identifier) @ref.base))
(base_list (qualified_name qualifier: (_) @receiver name: (identifier) @ref.base))
(base_list (qualified_name qualifier: (_) @receiver name: (generic_name (identifier) @ref.base)))
(base_list (primary_constructor_base_type type: (identifier) @ref.base))
(base_list (primary_constructor_base_type type: (generic_name (identifier) @ref.base)))
(attribute name: (identifier) @ref.annotation)
(attribute name: (qualified_name qualifier: (_) @receiver name: (identifier) @ref.annotation))
(explicit_interface_specifier (identifier) @ref.type)
(parameter type: (identifier) @ref.type)
(variable_declaration type: (identifier) @ref.type)
(property_declaration type: (identifier) @ref.type)
(indexer_declaration type: (identifier) @ref.type)
(event_declaration type: (identifier) @ref.type)
(delegate_declaration type: (identifier) @ref.type)
(operator_declaration type: (identifier) @ref.type)
(method_declaration returns: (identifier) @ref.type)
(local_function_statement type: (identifier) @ref.type)
(nullable_type type: (identifier) @ref.type)
(array_type type: (identifier) @ref.type)
(type_argument_list (identifier) @ref.type)
(type_parameter_constraint type: (identifier) @ref.type)
(typeof_expression type: (identifier) @ref.type)
(cast_expression type: (identifier) @ref.type)
(as_expression right: (identifier) @ref.type)
(is_expression right: (identifier) @ref.type)
(declaration_pattern type: (identifier) @ref.type)
(catch_declaration type: (identifier) @ref.type)
(using_directive (qualified_name name: (generic_name (identifier) @ref.type)))
(generic_name (identifier) @ref.type)

; Imports. A plain `using` opens a whole namespace, `using static` a whole type.
(using_directive name: (identifier) @alias (_) @module .) @import
(using_directive !name [(identifier) (qualified_name)] @module @everything) @import
(extern_alias_directive name: (identifier) @module) @import

; What C++ adds to C. A template belongs to the span of what it makes.
(template_declaration (_) @inner .) @around
(friend_declaration (function_definition) @inner) @around

(namespace_definition name: (_) @name) @def.namespace
(namespace_alias_definition name: (_) @name) @def.namespace
(class_specifier name: (type_identifier) @name body: (_)) @def.class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_) @value) @def.class
(class_specifier name: (qualified_identifier scope: (_) @container name: (type_identifier) @name) body: (_)) @def.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_) @value) @def.struct
(struct_specifier name: (qualified_identifier scope: (_) @container name: (type_identifier) @name) body: (_)) @def.struct
(concept_definition name: (identifier) @name) @def.trait
(alias_declaration name: (type_identifier) @name) @def.type

; Members that stand outside of their class. One without a type that is called like its class makes it.
(function_definition !type declarator: (function_declarator declarator: (qualified_identifier
  scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
  name: (identifier) @name)) (field_initializer_list)? @value (#eq? @name @container)) @def.constructor
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [(identifier) @name (operator_name) @name (destructor_name) @name (operator_cast) @name (template_function name: (identifier) @name)]))
  (_ (function_declarator declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [(identifier) @name (operator_name) @name (destructor_name) @name (operator_cast) @name (template_function name: (identifier) @name)])))
  (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (operator_cast) @name)]) @def.method
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier
    scope: (_) @container
    name: (qualified_identifier
      scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
      name: [(identifier) (operator_name) (destructor_name)] @name)))
  (_ (function_declarator declarator: (qualified_identifier
    scope: (_) @container
    name: (qualified_identifier
      scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
      name: [(identifier) (operator_name) (destructor_name)] @name))))]) @def.method
(function_definition declarator: (_ declarator: (qualified_identifier
  scope: (_) @container
  name: (qualified_identifier
    scope: (_) @container
    name: (qualified_identifier scope: (_) @container name: (_) @name))))) @def.method
(declaration type: (_) @lead declarator: (init_declarator declarator: (qualified_identifier
  scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
  name: [
    (identifier) @name
    (qualified_identifier scope: (_) @container name: (identifier) @name)]) value: (_) @value) @part) @def.variable

; Members in their class. Where a function has no type its name is that of its class.
(field_declaration_list (function_definition !type declarator: (function_declarator declarator: (identifier) @name) (field_initializer_list)? @value) @def.constructor)
(field_declaration_list (declaration !type declarator: (function_declarator declarator: (identifier) @name)) @def.constructor)
(field_declaration_list (template_declaration (function_definition !type declarator: (function_declarator declarator: (identifier) @name) (field_initializer_list)? @value) @def.constructor))
(field_declaration_list (template_declaration (declaration !type declarator: (function_declarator declarator: (identifier) @name)) @def.constructor))
(function_definition declarator: [
  (function_declarator declarator: [(field_identifier) @name (operator_name) @name (destructor_name) @name (template_function name: (identifier) @name)])
  (_ (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))
  (pointer_declarator declarator: (_ (function_declarator declarator: (field_identifier) @name)))
  (operator_cast) @name]) @def.function
(field_declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
  (_ (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  (pointer_declarator declarator: (_ (function_declarator declarator: (field_identifier) @name)))]) @def.method
(declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
  (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))
  (operator_cast) @name]) @def.function
(field_declaration type: (_) @lead declarator: (reference_declarator (field_identifier) @name) @part) @def.field
(declaration type: (_) @lead declarator: (reference_declarator (identifier) @name) @part) @def.variable
(declaration declarator: (init_declarator declarator: (identifier) @name value: (lambda_expression body: (_) @value))) @def.function

; Uses.
(call_expression function: (qualified_identifier scope: (_) @receiver name: [
  (identifier) @ref.call
  (template_function name: (identifier) @ref.call)
  (qualified_identifier name: (identifier) @ref.call)
  (qualified_identifier name: (template_function name: (identifier) @ref.call))
  (qualified_identifier name: (qualified_identifier name: (identifier) @ref.call))]))
(call_expression function: (template_function name: (identifier) @ref.call))
(call_expression function: (field_expression argument: (_) @receiver field: [
  (template_method name: (field_identifier) @ref.call)
  (dependent_name (template_method name: (field_identifier) @ref.call))]))
(new_expression type: [
  (type_identifier) @ref.call
  (template_type name: (type_identifier) @ref.call)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @ref.call)
  (qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @ref.call))])
(compound_literal_expression type: [
  (type_identifier) @ref.call
  (template_type name: (type_identifier) @ref.call)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @ref.call)])
(base_class_clause [
  (type_identifier) @ref.base
  (template_type name: (type_identifier) @ref.base)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @ref.base)
  (qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @ref.base))])
(attribute name: (identifier) @ref.annotation)
(qualified_identifier scope: (_) @receiver name: [
  (type_identifier) @ref.type
  (template_type name: (type_identifier) @ref.type)])

; Imports. `using` brings names of a namespace, or one of them.
(using_declaration) @import.cpp_using

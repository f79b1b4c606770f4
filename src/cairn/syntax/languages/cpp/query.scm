; What C++ adds to C. A template belongs to the span of what it makes.
(template_declaration (_) @inner .) @around
(friend_declaration (function_definition) @inner) @around

; A macro before a name or behind a header (`class API Name`, `BEGIN_NS namespace x`, `API std::string f()`) leads the
; grammar astray: a class looks like the body of a function, a namespace like its name.
(function_definition type: (class_specifier !body) . declarator: [(identifier) @name (template_function name: (identifier) @name)] body: (_)) @def.class
(function_definition type: (class_specifier !body) . (ERROR . [(identifier) @name (template_function name: (identifier) @name)]) body: (_)) @def.class
(function_definition type: (struct_specifier !body) . declarator: (template_function name: (identifier) @name) body: (_)) @def.struct
(function_definition type: (struct_specifier !body) . (ERROR . [(identifier) @name (template_function name: (identifier) @name)]) body: (_)) @def.struct
(function_definition type: [(class_specifier !body) (struct_specifier !body)] declarator: (identifier) @_class body: (compound_statement [
    (expression_statement (call_expression function: (identifier) @name)) @def.constructor
    (labeled_statement (expression_statement (call_expression function: (identifier) @name)) @def.constructor)
    (expression_statement (assignment_expression left: (call_expression function: (identifier) @name))) @def.constructor
    (labeled_statement (expression_statement (assignment_expression left: (call_expression function: (identifier) @name))) @def.constructor)
    (ERROR . (function_declarator declarator: (identifier) @name) @def.constructor)
    (function_definition !type declarator: (function_declarator declarator: (identifier) @name) (field_initializer_list)? @value) @def.constructor])
  (#eq? @name @_class))
(function_definition type: [(class_specifier !body) (struct_specifier !body)] . (ERROR . (identifier) @_class) body: (compound_statement [
    (expression_statement (call_expression function: (identifier) @name)) @def.constructor
    (labeled_statement (expression_statement (call_expression function: (identifier) @name)) @def.constructor)
    (expression_statement (assignment_expression left: (call_expression function: (identifier) @name))) @def.constructor
    (labeled_statement (expression_statement (assignment_expression left: (call_expression function: (identifier) @name))) @def.constructor)
    (ERROR . (function_declarator declarator: (identifier) @name) @def.constructor)])
  (#eq? @name @_class))
((declaration type: (type_identifier) @_explicit declarator: (function_declarator declarator: (identifier) @name)) @def.constructor
  (#eq? @_explicit "explicit"))
(ERROR (explicit_function_specifier) @lead . [
  (function_declarator declarator: (identifier) @name) @def.constructor
  (ERROR (function_declarator declarator: (identifier) @name) @def.constructor)])
(function_definition (explicit_function_specifier) @lead . (ERROR . (function_declarator declarator: (identifier) @name) @def.constructor))
(ERROR (function_declarator declarator: (destructor_name) @name) @def.function)
((ERROR (function_declarator declarator: (identifier) @name parameters: (parameter_list . (parameter_declaration type: (_) declarator: (identifier)))) @def.function)
  (#not-match? @name "^[A-Z][A-Z0-9_]+$"))
((function_definition declarator: (identifier) @_namespace @lead . (ERROR . (identifier) @name) body: (_)) @def.namespace (#eq? @_namespace "namespace"))
((function_definition (ERROR . (identifier) @_namespace @lead .) . declarator: (identifier) @name body: (_)) @def.namespace (#eq? @_namespace "namespace"))
((labeled_statement label: (_) @_access (ERROR . (call_expression function: (identifier) @name) @def.constructor . ":"))
  (#any-of? @_access "public" "protected" "private"))
((declaration declarator: (_ declarator: (qualified_identifier scope: (_) @container name: (identifier) @name)) (MISSING ";")) @lead
  . (function_definition !type) @def.method)
((declaration declarator: (pointer_declarator declarator: (_ declarator: (qualified_identifier scope: (_) @container name: (identifier) @name))) (MISSING ";")) @lead
  . (function_definition !type) @def.method)
(ERROR "class" @lead . (identifier) @name @def.class . ["{" ":"])
(ERROR "struct" @lead . (identifier) @name @def.struct . ["{" ":"])
(ERROR (ERROR "class" @lead .) . (identifier) @name @def.class .)
(ERROR (ERROR "struct" @lead .) . (identifier) @name @def.struct .)
(function_definition type: (_) . (ERROR . (function_declarator declarator: (qualified_identifier scope: (_) @container name: (identifier) @name))) . declarator: (function_declarator)) @def.method
(function_definition type: (_) . (ERROR . (function_declarator declarator: [(identifier) (operator_name) (destructor_name)] @name)) . declarator: (function_declarator)) @def.function
(declaration type: (_) . (ERROR . (function_declarator declarator: (identifier) @name)) . declarator: (function_declarator)) @def.function
((function_definition type: (type_identifier) . (ERROR . (_) . [
    (function_declarator declarator: (identifier) @name)
    (init_declarator declarator: (identifier) @name value: (argument_list))] .) . declarator: (identifier) @_macro) @def.function
  (#match? @_macro "^[A-Z][A-Z0-9_]+$"))
((declaration type: (type_identifier) . (ERROR . (_) . [
    (function_declarator declarator: (identifier) @name)
    (init_declarator declarator: (identifier) @name value: (argument_list))] .) . declarator: (identifier) @_macro) @def.function
  (#match? @_macro "^[A-Z][A-Z0-9_]+$"))
(function_definition declarator: (function_declarator declarator: [
  (qualified_identifier (MISSING "::") name: (qualified_identifier scope: (_) @container name: [(identifier) (operator_name)] @name))
  (qualified_identifier scope: (namespace_identifier) . (ERROR . (identifier) @container .) name: (identifier) @name)])) @def.method
(field_declaration type: (_) @lead . (ERROR . (identifier) @name @part .) . declarator: (function_declarator declarator: (field_identifier) @_macro)
  (#match? @_macro "^[A-Z][A-Z0-9]*_[A-Z0-9_]+$")) @def.field
(declaration type: (type_identifier) declarator: (function_declarator declarator: [
  (qualified_identifier (MISSING "::") name: (identifier) @name)
  (qualified_identifier name: (qualified_identifier (MISSING "::") name: (identifier) @name))
  (qualified_identifier name: (qualified_identifier name: (qualified_identifier (MISSING "::") name: (identifier) @name)))])) @def.function
(function_definition type: (type_identifier) declarator: (function_declarator declarator: [
  (qualified_identifier (MISSING "::") name: (identifier) @name)
  (qualified_identifier name: (qualified_identifier (MISSING "::") name: (identifier) @name))
  (qualified_identifier name: (qualified_identifier name: (qualified_identifier (MISSING "::") name: (identifier) @name)))])) @def.function

(namespace_definition name: (_) @name) @def.namespace
(namespace_alias_definition name: (_) @name) @def.namespace
(class_specifier name: (type_identifier) @name body: (_)) @def.class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_) @value) @def.class
(class_specifier name: (qualified_identifier scope: (_) @container name: (type_identifier) @name) body: (_)) @def.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_) @value) @def.struct
(struct_specifier name: (qualified_identifier scope: (_) @container name: (type_identifier) @name) body: (_)) @def.struct
(class_specifier name: (qualified_identifier scope: (_) @container name: [
  (template_type name: (type_identifier) @name)
  (qualified_identifier scope: (_) @container name: [(type_identifier) @name (template_type name: (type_identifier) @name)])]) body: (_) @value) @def.class
(struct_specifier name: (qualified_identifier scope: (_) @container name: [
  (template_type name: (type_identifier) @name)
  (qualified_identifier scope: (_) @container name: [(type_identifier) @name (template_type name: (type_identifier) @name)])]) body: (_) @value) @def.struct
(concept_definition name: (identifier) @name) @def.trait
(alias_declaration name: (type_identifier) @name) @def.type
(type_definition declarator: (reference_declarator [
  (type_identifier) @name
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))])) @def.type

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
(declaration type: (_) @lead declarator: [
  (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [
      (identifier) @name
      (qualified_identifier scope: (_) @container name: (identifier) @name)])
  (pointer_declarator declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (identifier) @name))
  (array_declarator declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (identifier) @name))] @part (#not-eq? @lead "friend")) @def.variable
(declaration type: (_) @lead declarator: (init_declarator declarator: [
  (_ declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (identifier) @name))
  (_ declarator: (_ declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (identifier) @name)))] value: (_) @value) @part) @def.variable

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
(declaration type: (_) @lead declarator: (init_declarator declarator: (reference_declarator (identifier) @name) value: (_) @value) @part) @def.variable
; `= 0` and `= delete` where the grammar sees a value.
(declaration declarator: (init_declarator declarator: (function_declarator declarator: (qualified_identifier
  scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
  name: [(identifier) (operator_name) (destructor_name)] @name)))) @def.method
(declaration declarator: (init_declarator declarator: [
  (function_declarator declarator: [(identifier) (operator_name)] @name)
  (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))])) @def.function
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
(function_definition type: [(class_specifier !body) (struct_specifier !body)] . (ERROR ":") . declarator: [
  (qualified_identifier scope: (_) @receiver name: (identifier) @ref.base)
  (template_function name: (identifier) @ref.base)])
(function_definition type: [(class_specifier !body) (struct_specifier !body)] . declarator: (identifier) . (ERROR . ":" (identifier) @ref.base))
(attribute name: (identifier) @ref.annotation)
(qualified_identifier scope: (_) @receiver name: [
  (type_identifier) @ref.type
  (template_type name: (type_identifier) @ref.type)])

; Imports. `using` brings names of a namespace, or one of them.
(using_declaration) @import.cpp_using

; What the grammar of JavaScript names otherwise than that of TypeScript.
(field_definition property: (_) @name value: [
  (arrow_function body: (_) @value)
  (function_expression body: (_) @value)]) @def.method
(field_definition property: (_) @name) @def.field
; Without a declaration, what the constructor sets are the fields. The span is the name alone: the value is its work.
(method_definition name: (property_identifier) @_constructor
  body: (statement_block (expression_statement (assignment_expression
    left: (member_expression object: (this) property: [(property_identifier) (private_property_identifier)] @name) @def.field)))
  (#eq? @_constructor "constructor"))
(class_heritage [
  (identifier) @ref.base
  (member_expression object: (_) @receiver property: (property_identifier) @ref.base)])

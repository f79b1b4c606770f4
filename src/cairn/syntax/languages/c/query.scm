; What C and C++ write alike. Prototypes are definitions too: headers are the interface.

; Functions.
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))]) @def.function
(declaration declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))]) @def.function
; A name in brackets is safe from a macro of that name. Behind an unknown word the brackets look like parameters.
(function_definition declarator: [
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (identifier) @name)))
  (function_declarator declarator: (function_declarator declarator: (identifier) parameters: (parameter_list . (parameter_declaration . type: (type_identifier) @name .) .)))]) @def.function
(declaration declarator: [
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (identifier) @name)))
  (function_declarator declarator: (function_declarator declarator: (identifier) parameters: (parameter_list . (parameter_declaration . type: (type_identifier) @name .) .)))]) @def.function
; A macro behind the parameters breaks the declaration in two.
((ERROR type: (_) @lead . (function_declarator declarator: [
  (identifier) @name
  (function_declarator declarator: (identifier) parameters: (parameter_list . (parameter_declaration . type: (type_identifier) @name .) .))]) @def.function)
  (#not-match? @name "^(__|[A-Z][A-Z0-9_]+$)"))
(ERROR type: (_) @lead . (function_declarator declarator: [
  (parenthesized_declarator (pointer_declarator declarator: (identifier) @name))
  (function_declarator declarator: (identifier) parameters: (parameter_list (ERROR "*") . (parameter_declaration . type: (type_identifier) @name .) .))]) @def.variable)
; One such line after the other becomes a tower of parameters.
((ERROR ";" . (_) @lead) . (parameter_list . (ERROR "*") . (parameter_declaration . type: (type_identifier) @name .) .) @def.variable)
(parameter_list . (ERROR "*") . (parameter_declaration . type: (type_identifier) @name .) .) @def.variable

; Types. A type without a tag is called by the name that a typedef gives it.
(type_definition type: (struct_specifier "struct" @lead !name body: (_)) declarator: (type_identifier) @name @part) @def.struct
(type_definition type: (union_specifier "union" @lead !name body: (_)) declarator: (type_identifier) @name @part) @def.union
(type_definition type: (enum_specifier "enum" @lead !name body: (_)) declarator: (type_identifier) @name @part) @def.enum
(type_definition type: [
    (struct_specifier name: (_) body: (_))
    (union_specifier name: (_) body: (_))
    (enum_specifier name: (_) body: (_))]
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)] @def.type)
(type_definition declarator: [
  (type_identifier) @name
  (primitive_type) @name
  (pointer_declarator declarator: (type_identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (type_identifier) @name))
  (array_declarator declarator: (type_identifier) @name)
  (function_declarator declarator: (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (type_identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
  (pointer_declarator declarator: (function_declarator declarator: (type_identifier) @name))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (type_identifier) @name)))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))))]) @def.type
(struct_specifier name: (type_identifier) @name body: (_)) @def.struct
(function_definition type: (struct_specifier !body) declarator: (identifier) @name body: (_)) @def.struct
(union_specifier name: (type_identifier) @name body: (_)) @def.union
(enum_specifier name: (type_identifier) @name body: (_)) @def.enum
(enumerator name: (identifier) @name) @def.enum_member

; Members. One whose type is written on the spot holds the members of that type.
(field_declaration type: [
    (struct_specifier "struct" @lead body: (_))
    (union_specifier "union" @lead body: (_))
    (enum_specifier "enum" @lead body: (_))]
  declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (array_declarator declarator: (field_identifier) @name)] @part) @def.field
(field_declaration type: (_) @lead declarator: [
  (field_identifier) @name
  (pointer_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
  (array_declarator declarator: (field_identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (field_identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name))))] @part) @def.field

; Variables of a file. Those of a function are left out by what they stand in.
(declaration type: [
    (struct_specifier body: (_))
    (union_specifier body: (_))
    (enum_specifier body: (_))]
  declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (array_declarator declarator: (identifier) @name)
    (init_declarator declarator: [
      (identifier) @name
      (array_declarator declarator: (identifier) @name)])] @def.variable)
(declaration type: (_) @lead declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name))))] @part) @def.variable
(declaration type: (_) @lead declarator: (init_declarator declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))] value: (_) @value) @part) @def.variable

; A macro may stand between the star and the name.
((declaration type: (_) @lead declarator: (pointer_declarator declarator: (identifier) @_macro) . (ERROR . (identifier) @name @part .) . ";") @def.variable
  (#match? @_macro "^[A-Z][A-Z0-9_]+$"))

(preproc_def name: (identifier) @name) @def.macro
(preproc_function_def name: (identifier) @name) @def.macro
(comment) @comment

; Uses.
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @ref.call))
(call_expression function: (parenthesized_expression (pointer_expression argument: (identifier) @ref.call)))
(type_identifier) @ref.type

; Imports.
(preproc_include path: (_) @module) @import

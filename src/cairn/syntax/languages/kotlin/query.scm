; Definitions. A package is all that follows its header, so that names are qualified as imports write them.
(package_header (qualified_identifier) @name) @def.module @level
(class_declaration "interface" name: (identifier) @name) @def.interface
(class_declaration name: (identifier) @name (enum_class_body)) @def.enum
(class_declaration name: (identifier) @name) @def.class
; After several annotations the grammar takes `class Name` for an expression with the operator `class`.
((infix_expression (identifier) @_class . (identifier) @name @def.class) (#eq? @_class "class"))
((infix_expression (identifier) @_class . (call_expression . (identifier) @name (annotated_lambda) @value) @def.class) (#eq? @_class "class"))
(object_declaration name: (identifier) @name) @def.object
; A companion without a name is written as its class, so its members are members of the class.
(companion_object name: (identifier) @name) @def.object
(enum_entry (identifier) @name (value_arguments)? @value) @def.enum_member
(type_alias type: (identifier) @name) @def.type
(secondary_constructor "constructor" @name (constructor_delegation_call)? @value) @def.constructor
(class_parameter ["val" "var"] . (identifier) @name "="? @value) @def.property

; Functions. One with a receiver is a method of it, wherever it stands.
(function_declaration [
  (user_type (identifier)+ @container)
  (nullable_type (user_type (identifier)+ @container))] . name: (identifier) @name) @def.method
(function_declaration name: (identifier) @name) @def.function
(property_declaration (variable_declaration . (identifier) @name) [(lambda_literal) (anonymous_function)] @value) @def.function

; Properties of files and types; those of a block are its own affair.
(source_file (property_declaration (modifiers (property_modifier) @_const) (variable_declaration . (identifier) @name) "="? @value) @def.constant (#eq? @_const "const"))
(source_file (property_declaration [
    (user_type (identifier)+ @container)
    (nullable_type (user_type (identifier)+ @container))]
  . (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
(source_file (property_declaration (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
(class_body (property_declaration (modifiers (property_modifier) @_const) (variable_declaration . (identifier) @name) "="? @value) @def.constant (#eq? @_const "const"))
(class_body (property_declaration [
    (user_type (identifier)+ @container)
    (nullable_type (user_type (identifier)+ @container))]
  . (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
(class_body (property_declaration (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
; What is left of a type that the grammar gives up on. A plain `val` there may be a local one of a function whose head
; is lost; one with a modifier, a comment or a member before it is none.
(ERROR . (modifiers)? . "class" . (identifier) @name . "{" @value) @def.class
(ERROR "class" @lead . (identifier) @name @def.class)
(ERROR "fun" @lead . (identifier) @name . (function_value_parameters) @def.function)
(ERROR (property_declaration (modifiers) (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)
(ERROR [(block_comment) (function_declaration) (class_declaration)] @_before
  . (property_declaration . (variable_declaration . (identifier) @name) ["=" (getter) (property_delegate)]? @value) @def.property)

(line_comment) @comment
(block_comment) @comment

; Uses. The last name of a qualified type is the one that is used.
(annotation [
  (user_type (identifier) @ref.annotation .)
  (constructor_invocation (user_type (identifier) @ref.annotation .))])
(delegation_specifier [
  (user_type (identifier) @ref.base .)
  (user_type (identifier) @ref.base . (type_arguments))
  (constructor_invocation (user_type (identifier) @ref.base .))
  (constructor_invocation (user_type (identifier) @ref.base . (type_arguments)))
  (explicit_delegation (user_type (identifier) @ref.base .))
  (explicit_delegation (user_type (identifier) @ref.base . (type_arguments)))])
(call_expression . (identifier) @ref.call)
(call_expression . (navigation_expression (_) @receiver (identifier) @ref.call .))
(constructor_delegation_call ["this" "super"] @ref.call)
(navigation_expression (_) @receiver "::" (identifier) @ref.call (#not-eq? @ref.call "class"))
((user_type (identifier) @ref.type .)
  (#not-match? @ref.type "^(Int|Long|Short|Byte|Char|Boolean|Float|Double|String|Unit|Any|Nothing)$"))
(user_type (identifier) @ref.type . (type_arguments))

; Imports.
(import) @import.kotlin

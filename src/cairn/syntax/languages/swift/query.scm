; Definitions. One node serves class, struct, enum, actor and extension: its keyword tells them apart.
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @value) @def.impl
(class_declaration declaration_kind: "struct" name: (_) @name) @def.struct
(class_declaration declaration_kind: "enum" name: (_) @name) @def.enum
(class_declaration declaration_kind: ["class" "actor"] name: (_) @name) @def.class
(protocol_declaration name: (_) @name) @def.interface
(enum_entry "case" @lead name: (simple_identifier) @name @part . data_contents: (_)? @part) @def.enum_member
(typealias_declaration "typealias" @lead name: (type_identifier) @name @part (_) @part .) @def.type
(associatedtype_declaration name: (type_identifier) @name) @def.type
(function_declaration name: [(simple_identifier) (custom_operator) "==" "!=" "<" ">" "<=" ">=" "===" "!==" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "&" "|" "^" "<<" ">>" "++" "--" "~"] @name) @def.function
(protocol_function_declaration name: [(simple_identifier) (custom_operator) "==" "!=" "<" ">" "<=" ">=" "===" "!==" "+" "-" "*" "/" "%" "+=" "-=" "*=" "/=" "%=" "&" "|" "^" "<<" ">>" "++" "--" "~"] @name) @def.function
(init_declaration name: "init" @name body: (_)? @value) @def.constructor
(deinit_declaration "deinit" @name) @def.method
(subscript_declaration "subscript" @name (computed_property) @value) @def.property
(operator_declaration "operator" . (_) @name) @def.function
(macro_declaration (simple_identifier) @name definition: (_)? @value) @def.macro
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (protocol_property_requirements)? @value) @def.property
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name) . (type_annotation)? . computed_value: (_) @value) @def.property)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name) . (type_annotation)? . computed_value: (_) @value) @def.property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name) . (type_annotation)? . computed_value: (_) @value) @def.property)
(source_file (property_declaration (value_binding_pattern) @lead name: (pattern bound_identifier: (simple_identifier) @name) @part . (type_annotation)? @part . "="? @value) @def.variable)
(class_body (property_declaration (value_binding_pattern) @lead name: (pattern bound_identifier: (simple_identifier) @name) @part . (type_annotation)? @part . "="? @value) @def.field)
(enum_class_body (property_declaration (value_binding_pattern) @lead name: (pattern bound_identifier: (simple_identifier) @name) @part . (type_annotation)? @part . "="? @value) @def.field)

(comment) @comment
(multiline_comment) @comment

; Uses.
; A subscript reads like a call. After `+`, `*` and a prefix operator the grammar takes the operator into the callee.
(call_expression . (simple_identifier) @ref.none (call_suffix (value_arguments "[")))
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @ref.none)) (call_suffix (value_arguments "[")))
; One pattern, for the engine looks at all that a call can be once for each of them when it reads a query.
(call_expression . [
  (simple_identifier) @ref.call
  (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @ref.call))
  (additive_expression rhs: [
    (simple_identifier) @ref.call
    (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @ref.call))])
  (multiplicative_expression rhs: [
    (simple_identifier) @ref.call
    (prefix_expression target: (multiplicative_expression rhs: (simple_identifier) @ref.call))
    (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @ref.call))])
  (prefix_expression target: [
    (simple_identifier) @ref.call
    (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @ref.call))])])
(constructor_expression constructed_type: (user_type . (type_identifier) @ref.call .))
(constructor_expression constructed_type: (user_type . (type_identifier) @ref.call . (type_arguments)))
(macro_invocation (simple_identifier) @ref.call)
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.base .))
(inheritance_specifier inherits_from: (user_type (type_identifier) @ref.base . (type_arguments)))
(attribute (user_type (type_identifier) @ref.annotation))
(class_declaration name: (user_type (type_identifier) @ref.type .))
(user_type (type_identifier) @ref.type)

; Imports. A module is opened whole, `import struct Foo.Bar` takes one name of it.
(import_declaration) @import.swift

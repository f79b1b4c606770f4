; Definitions. A container has no name of its own: the constant it is bound to names it.
(variable_declaration ["const" "var"] . (identifier) @name (struct_declaration "{" @value)) @def.struct
(variable_declaration ["const" "var"] . (identifier) @name (enum_declaration "{" @value)) @def.enum
(variable_declaration ["const" "var"] . (identifier) @name (union_declaration "{" @value)) @def.union
(variable_declaration ["const" "var"] . (identifier) @name (opaque_declaration "{" @value)) @def.struct
(variable_declaration ["const" "var"] . (identifier) @name (error_set_declaration "{" @value)) @def.enum
(error_set_declaration (identifier) @name @def.enum_member)
(enum_declaration (container_field name: (identifier) @name "="? @value) @def.enum_member)
(container_field name: (identifier) @name "="? @value) @def.field
; A function that returns a struct is how a generic type is written.
(function_declaration name: (identifier) @name body: (block (expression_statement (return_expression (struct_declaration)))) @value) @def.struct
(function_declaration name: (identifier) @name) @def.function
(test_declaration [(string (string_content) @name) (identifier) @name]) @def.function
(source_file (variable_declaration "const" . (identifier) @name "="? @value) @def.constant)
(source_file (variable_declaration "var" . (identifier) @name "="? @value) @def.variable)
(struct_declaration (variable_declaration "const" . (identifier) @name "="? @value) @def.constant)
(struct_declaration (variable_declaration "var" . (identifier) @name "="? @value) @def.variable)
(enum_declaration (variable_declaration "const" . (identifier) @name "="? @value) @def.constant)
(union_declaration (variable_declaration "const" . (identifier) @name "="? @value) @def.constant)
(opaque_declaration (variable_declaration "const" . (identifier) @name "="? @value) @def.constant)

(comment) @comment

; Uses.
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression object: (_) @receiver member: (identifier) @ref.call))
(parameter type: (identifier) @ref.type)
(container_field type: (identifier) @ref.type)
(function_declaration type: (identifier) @ref.type)
(variable_declaration type: (identifier) @ref.type)
(pointer_type (identifier) @ref.type)
(nullable_type (identifier) @ref.type)
(slice_type (identifier) @ref.type)
(array_type (identifier) @ref.type)
(function_declaration type: (error_union_type ok: (identifier) @ref.type))
(struct_initializer . (identifier) @ref.type)

; Imports. `const x = @import("y").z` takes one name of a file.
(variable_declaration "const" . (identifier) @alias (builtin_function (builtin_identifier) @_import (arguments (string) @module)) (#eq? @_import "@import")) @import
(variable_declaration "const" . (identifier) @alias (field_expression object: (builtin_function (builtin_identifier) @_import (arguments (string) @module)) member: (identifier) @name) (#eq? @_import "@import")) @import
(builtin_function (builtin_identifier) @_import (arguments (string) @module) (#eq? @_import "@import")) @import

; Exports: what a file passes on from another one.
(source_file (variable_declaration "pub" (identifier) @export . (builtin_function (builtin_identifier) @_import) (#eq? @_import "@import")))
(source_file (variable_declaration "pub" (identifier) @export . (field_expression object: (builtin_function (builtin_identifier) @_import)) (#eq? @_import "@import")))

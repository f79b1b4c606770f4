; Definitions. `function M.f` and `function M:f` belong to the table M.
(function_declaration name: (dot_index_expression table: (_) @container field: (identifier) @name) body: (_)? @value "end" @value) @def.method
(function_declaration name: (method_index_expression table: (_) @container method: (identifier) @name) body: (_)? @value "end" @value) @def.method
(function_declaration name: (identifier) @name body: (_)? @value "end" @value) @def.function
(variable_declaration (assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (function_definition body: (_)? @value "end" @value)))) @def.function
(assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (function_definition body: (_)? @value "end" @value))) @def.function
(assignment_statement (variable_list . name: (dot_index_expression table: (_) @container field: (identifier) @name) .) (expression_list . value: (function_definition body: (_)? @value "end" @value))) @def.method
(field name: (identifier) @name value: (function_definition body: (_)? @value "end" @value)) @def.method
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (table_constructor) @value))) @def.object)
(chunk (assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (table_constructor) @value)) @def.object)
(chunk (assignment_statement (variable_list . name: (dot_index_expression table: (identifier) @container field: (identifier) @name) .) (expression_list . value: (table_constructor) @value)) @def.object)
(chunk (variable_declaration "local" @lead (assignment_statement (variable_list name: (identifier) @name) @part)) @def.variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @def.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name) @part) @def.variable)
(chunk (assignment_statement (variable_list name: (dot_index_expression table: (identifier) @container field: (identifier) @name)) @part) @def.field)
(chunk (variable_declaration (assignment_statement (expression_list value: (table_constructor (field name: (identifier) @name value: (_) @value) @def.field)))))
(chunk (assignment_statement (expression_list value: (table_constructor (field name: (identifier) @name value: (_) @value) @def.field))))
(chunk (return_statement (expression_list (table_constructor (field name: (identifier) @name value: (_) @value) @def.field))))

(comment) @comment

; Uses.
(function_call name: (identifier) @ref.call)
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @ref.call))
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @ref.call))

; Imports. The first form binds a name, the last one loads for effect.
(variable_declaration (assignment_statement (variable_list . name: (identifier) @alias . (attribute)? .)
  (expression_list . value: (function_call name: (identifier) @_load arguments: (arguments . (string) @module)))) (#eq? @_load "require")) @import
(variable_declaration (assignment_statement (variable_list . name: (identifier) @alias . (attribute)? .)
  (expression_list . value: (dot_index_expression table: (function_call name: (identifier) @_load arguments: (arguments . (string) @module)) field: (identifier) @name))) (#eq? @_load "require")) @import
(function_call name: (identifier) @_load arguments: (arguments . (string) @module) (#eq? @_load "require")) @import

; Exports: a module is what its file returns.
(chunk (return_statement (expression_list . (identifier) @export .)))
(chunk (return_statement (expression_list . (function_call arguments: (arguments (identifier) @export .)) .)))

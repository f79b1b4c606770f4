; Definitions. Variables count where a reader of another script would see them: at the top of the file.
(function_definition name: (word) @name) @def.function
(program (variable_assignment name: (variable_name) @name) @def.variable)
(program (variable_assignment name: (subscript name: (variable_name) @name)) @def.variable)
(program (declaration_command "readonly" @lead (variable_assignment name: (variable_name) @name @part)) @def.constant)
(program (declaration_command ["export" "declare" "typeset"] @lead . (word)? @lead (variable_assignment name: (variable_name) @name @part)) @def.variable)
(program (list (variable_assignment name: (variable_name) @name) @def.variable))
(program (list (declaration_command "readonly" @lead (variable_assignment name: (variable_name) @name @part)) @def.constant))
(program (list (declaration_command "export" @lead (variable_assignment name: (variable_name) @name @part)) @def.variable))
(program (if_statement (variable_assignment name: (variable_name) @name) @def.variable))
(program (if_statement (declaration_command "readonly" @lead (variable_assignment name: (variable_name) @name @part)) @def.constant))
(program (if_statement (declaration_command "export" @lead (variable_assignment name: (variable_name) @name @part)) @def.variable))

(comment) @comment

; Uses: every command may be a function of this or another script.
(command name: (command_name . (word) @ref.call .))

; Exports.
(declaration_command "export" (variable_name) @export)
(declaration_command "export" (variable_assignment name: (variable_name) @export))

; Imports.
(command name: (command_name (word) @_load) . argument: (_) @module (#any-of? @_load "source" ".")) @import

; Definitions. A view reads like a table; an index is a key; a trigger is a rule.
(create_table (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.table
(create_view (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.table
(create_materialized_view (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.table
(create_index column: [(identifier) (literal)] @name) @def.key
(create_function (object_reference schema: (identifier)? @container name: (identifier) @name) (function_body)? @value) @def.function
(create_type (object_reference schema: (identifier)? @container name: (identifier) @name) (keyword_enum)) @def.enum
(create_type (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.type
(enum_elements (literal) @name @def.enum_member)
(create_trigger . (keyword_create) (keyword_trigger) . (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.rule
(create_schema (identifier) @name) @def.namespace
(create_database (identifier) @name) @def.namespace
(create_sequence (object_reference schema: (identifier)? @container name: (identifier) @name)) @def.variable
(create_table (column_definitions (column_definition name: [(identifier) (literal)] @name) @def.field))
(create_table (column_definitions (constraints (constraint (keyword_constraint) name: (identifier) @name) @def.key)))
(alter_table (object_reference name: (identifier) @container) (add_column (column_definition name: [(identifier) (literal)] @name) @def.field))
; A name in square brackets can lead the grammar astray until the next table is read as the type of a column.
((ERROR (keyword_create) @lead . (keyword_table) . "[" .) . (object_reference name: (identifier) @name) @def.table)

(comment) @comment
(marginalia) @comment

; Uses.
(invocation (object_reference schema: (identifier)? @receiver name: (identifier) @ref.call))
(create_trigger (keyword_execute) (object_reference name: (identifier) @ref.call))
(relation (object_reference schema: (identifier)? @receiver name: (identifier) @ref.type))
(from (object_reference schema: (identifier)? @receiver name: (identifier) @ref.type))
(insert (object_reference schema: (identifier)? @receiver name: (identifier) @ref.type))
(update (relation (object_reference name: (identifier) @ref.type)))
(column_definition (keyword_references) (object_reference schema: (identifier)? @receiver name: (identifier) @ref.type))
(constraint (keyword_references) (object_reference schema: (identifier)? @receiver name: (identifier) @ref.type))
(create_index (keyword_on) (object_reference name: (identifier) @ref.type))
(alter_table (object_reference name: (identifier) @ref.type))
(create_trigger (keyword_on) . (object_reference name: (identifier) @ref.type))

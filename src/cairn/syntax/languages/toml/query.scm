; Tables, and the keys in them; what is inside an inline table is a value.
(table . [(bare_key) (dotted_key) (quoted_key)] @name) @def.table
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @def.table
(document (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @def.key)
(table (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @def.key)
(table_array_element (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @def.key)

(comment) @comment

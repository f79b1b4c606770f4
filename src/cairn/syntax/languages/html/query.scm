; Elements one can link to or look for: those with an id, headings, the title.
(element (start_tag (attribute (attribute_name) @_id [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name])) (#eq? @_id "id")) @def.element
(element (self_closing_tag (attribute (attribute_name) @_id [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name])) (#eq? @_id "id")) @def.element
(script_element (start_tag (attribute (attribute_name) @_id (quoted_attribute_value (attribute_value) @name))) (#eq? @_id "id")) @def.element
((element (start_tag . (tag_name) @_tag)) @name @def.element (#any-of? @_tag "title" "h1" "h2" "h3" "h4" "h5" "h6"))

(comment) @comment

; What a page loads.
(script_element (start_tag (attribute (attribute_name) @_src (quoted_attribute_value (attribute_value) @module))) (#eq? @_src "src")) @import
([(start_tag . (tag_name) @_tag) (self_closing_tag . (tag_name) @_tag)] @import.html_link (#eq? @_tag "link"))

; Headings. A heading owns what follows it, up to the next one of its level; setext headings have no section of
; their own in the grammar. A heading in a quote or a list belongs to that, so the path from the document is spelled out.
(document (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading))
(document (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading))
(document (section (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading)))
(document (section (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading)))
(document (section (section (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading))))
(document (section (section (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading))))
(document (section (section (section (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading)))))
(document (section (section (section (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading)))))
(document (section (section (section (section (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading))))))
(document (section (section (section (section (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading))))))
(document (section (section (section (section (section (section (atx_heading . (_) @level heading_content: (inline) @name) @def.heading)))))))
(document (section (section (section (section (section (section (setext_heading heading_content: (paragraph (inline) @name) [(setext_h1_underline) (setext_h2_underline)] @level) @def.heading)))))))

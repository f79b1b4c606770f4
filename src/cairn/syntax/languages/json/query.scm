; The keys of the outer two levels: enough to find a setting, few enough to stay small.
(document (object (pair key: (string) @name) @def.key))
(document (object (pair value: (object (pair key: (string) @name) @def.key))))

(comment) @comment

; Definitions. A decorator belongs to the span of what it decorates.
(decorated_definition definition: (_) @inner) @around
; Only the first and the last decorator are asked: a pattern for any of them would hold one open match for each.
(decorated_definition . (decorator [(identifier) @_how (attribute attribute: (identifier) @_how)])
  definition: (function_definition name: (identifier) @name)
  (#match? @_how "^(abstract|cached_)?property$")) @def.property
(decorated_definition (decorator [(identifier) @_how (attribute attribute: (identifier) @_how)])
  . definition: (function_definition name: (identifier) @name)
  (#match? @_how "^((abstract|cached_)?property|setter|getter|deleter)$")) @def.property
(function_definition name: (identifier) @name) @def.function
(class_definition name: (identifier) @name superclasses: (argument_list [(identifier) (attribute)] @_base)
  (#match? @_base "(Enum|Flag)$")) @def.enum
(class_definition name: (identifier) @name) @def.class
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @def.type

; Names of a module and of a class. A chain (`a = b = 1`) is one declaration of two names.
(expression_statement (assignment left: (identifier) @name right: (lambda)) @def.function)
(expression_statement (assignment left: (identifier) @name type: (type [(identifier) @_alias (attribute attribute: (identifier) @_alias)])) @def.type
  (#eq? @_alias "TypeAlias"))
(module (expression_statement (assignment left: [
  (identifier) @name
  (pattern_list (identifier) @name)
  (tuple_pattern (identifier) @name)]) @def.variable))
(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @def.variable))
(class_definition superclasses: (argument_list [(identifier) (attribute)] @_base)
  body: (block (expression_statement (assignment left: (identifier) @name !type) @def.enum_member))
  (#match? @_base "(Enum|Flag)$") (#not-match? @name "^_"))
(class_definition body: (block (expression_statement (assignment left: [
  (identifier) @name
  (pattern_list (identifier) @name)
  (tuple_pattern (identifier) @name)]) @def.variable)))
(class_definition body: (block (expression_statement (assignment right: (assignment left: (identifier) @name)) @def.variable)))
; A module's names are often made under a condition (`if TYPE_CHECKING`, `except ImportError`).
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
(module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable)))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
(module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable)))))
(module (with_statement body: (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
; One condition in another; and those of a class.
(module (if_statement (block [
  (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
  (try_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))])))
(module (if_statement (_ (block [
  (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
  (try_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))]))))
(module (try_statement (block [
  (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
  (try_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))])))
(module (try_statement (_ (block [
  (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))
  (try_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))
  (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))]))))
(class_definition body: (block (if_statement (block (expression_statement (assignment left: (identifier) @name) @def.variable)))))
(class_definition body: (block (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @def.variable))))))

; What the constructor sets are the fields. The span is the name alone: the value is the constructor's work.
(function_definition name: (identifier) @_init
  body: (block (expression_statement (assignment left: (attribute object: (identifier) @_self attribute: (identifier) @name) @def.field)))
  (#eq? @_init "__init__") (#eq? @_self "self"))

; Doc strings stand first in the body.
(function_definition body: (block . (expression_statement (string) @doc)))
(class_definition body: (block . (expression_statement (string) @doc)))
(comment) @comment

; Uses. A decorator with arguments is a decorator first.
(decorator [
  (identifier) @ref.annotation
  (attribute object: (_) @receiver attribute: (identifier) @ref.annotation)
  (call function: (identifier) @ref.annotation)
  (call function: (attribute object: (_) @receiver attribute: (identifier) @ref.annotation))])
(call function: (identifier) @ref.call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @ref.call))
(class_definition superclasses: (argument_list [
  (identifier) @ref.base
  (attribute object: (_) @receiver attribute: (identifier) @ref.base)
  (subscript value: (identifier) @ref.base)
  (subscript value: (attribute object: (_) @receiver attribute: (identifier) @ref.base))]))
(class_definition superclasses: (argument_list (keyword_argument value: [
  (identifier) @ref.type
  (attribute object: (_) @receiver attribute: (identifier) @ref.type)])))
(type (identifier) @ref.type (#not-match? @ref.type "^(str|int|float|bool|bytes|object)$"))
(type (attribute object: (_) @receiver attribute: (identifier) @ref.type))
(type (generic_type (identifier) @ref.type))
(type (subscript value: (attribute object: (_) @receiver attribute: (identifier) @ref.type)))
(type (subscript subscript: (identifier) @ref.type (#not-match? @ref.type "^(str|int|float|bool|bytes|object)$")))
(type (list (identifier) @ref.type (#not-match? @ref.type "^(str|int|float|bool|bytes|object)$")))
(except_clause value: [
  (identifier) @ref.type
  (attribute object: (_) @receiver attribute: (identifier) @ref.type)
  (tuple (identifier) @ref.type)
  (tuple (attribute object: (_) @receiver attribute: (identifier) @ref.type))
  (as_pattern (identifier) @ref.type)
  (as_pattern (attribute object: (_) @receiver attribute: (identifier) @ref.type))
  (as_pattern (tuple (identifier) @ref.type))
  (as_pattern (tuple (attribute object: (_) @receiver attribute: (identifier) @ref.type)))])
(class_pattern (dotted_name (identifier) @ref.type .))

; Imports.
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @name) @import
(future_import_statement "__future__" @module name: (dotted_name) @name) @import

; Exports.
(module (expression_statement [
  (assignment left: (identifier) @_all right: [
    (list (string) @export)
    (tuple (string) @export)
    (binary_operator [(list (string) @export) (tuple (string) @export)])])
  (augmented_assignment left: (identifier) @_all right: [(list (string) @export) (tuple (string) @export)])
  (call function: (attribute object: (identifier) @_all) arguments: (argument_list [(string) @export (list (string) @export)]))])
  (#eq? @_all "__all__"))

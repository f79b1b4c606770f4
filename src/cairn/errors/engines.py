"""What can go wrong with the model that makes the vectors, and with a server that searches rows (50-59)."""

from __future__ import annotations

from cairn.errors.base import CairnError


class EmbeddingFailed(CairnError):
    """The text could not be turned into vectors: {why}.

    Nothing was changed by it. Run the command again; when the model is a remote one, check its settings.
    """

    code = "embedding_failed"
    exit_status = 50


class ModelDamaged(EmbeddingFailed):
    """The bundled model at {path} cannot be used: {why}.

    Install Cairn again; the index is untouched.
    """

    code = "model_damaged"
    exit_status = 51


class ModelUnavailable(EmbeddingFailed):
    """The remote model cannot be used: {why}.

    Nothing was changed by it. Check the server and `[embedding]` in your own config.toml, then run the command again.
    """

    code = "model_unavailable"
    exit_status = 52
    retryable = True


class EngineError(CairnError):
    """The search server could not do what it was asked: {why}.

    What is indexed on this machine is untouched and still answers. `cairn engine status` shows how the server stands.
    """

    code = "engine_failed"
    exit_status = 53


class EngineUnreachable(EngineError):
    """The search server at {uri} does not answer: {why}.

    What is indexed on this machine is untouched and still answers. Check the server and `[engine]` in your own
    config.toml, then run the command again.
    """

    code = "engine_unreachable"
    exit_status = 54
    retryable = True


class EngineRefused(EngineError):
    """The search server at {uri} does not let us in: {why}.

    Nothing was changed. Put the right token into the environment variable that `token_env` under `[engine]` names.
    """

    code = "engine_refused"
    exit_status = 55


class EngineForeign(EngineError):
    """The collection {collection} on the search server is not one that this version of Cairn can use: {why}.

    Nothing was changed. Remove or rename that collection on the server, then run `cairn engine push`.
    """

    code = "engine_foreign"
    exit_status = 56


class EngineMissing(EngineError):
    """`[engine] kind = "milvus"` needs the package pymilvus, which is not installed.

    Install it: `pip install 'codecairn[milvus]'`. The index on this machine answers without it.
    """

    code = "engine_missing"
    exit_status = 57


class EngineDamaged(EngineError):
    """What the search server holds is not what was sent there: {why}.

    What is indexed on this machine is untouched. `cairn engine push`, where the index is, sends again what is missing;
    what is wrong after that as well goes when you drop the collection that `cairn engine status` names and push anew.
    """

    code = "engine_damaged"
    exit_status = 58


class EngineFull(EngineError):
    """The search server has no room left: {why}.

    What is indexed on this machine is untouched and still answers. Make room on the server, then run the command again.
    """

    code = "engine_full"
    exit_status = 59
    retryable = True

defprotocol Weather.Readable do
  @doc "The value in the unit of its kind."
  def value(reading)
end

defmodule Weather.Station do
  @moduledoc """
  One station and its sensors.

  Readings are kept for an hour.
  """

  use GenServer, restart: :transient
  alias Weather.{Reading, Sensor.Wind}
  alias Weather.Archive, as: Store
  import Enum, only: [map: 2, reduce: 3]
  import Bitwise
  require Logger

  @behaviour Weather.Source
  @timeout 5_000
  @units [:celsius, :hpa]

  @typedoc "A station."
  @type t :: %__MODULE__{name: String.t(), sensors: [pid()]}
  @typep state(kind) :: {kind, map()}
  @callback calibrate(offset :: float()) :: :ok

  @enforce_keys [:name]
  defstruct [:name, sensors: [], größe: nil]

  defguard is_hot(value) when value > 35

  @doc """
  Starts a station.
  """
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(opts \\ []) do
    GenServer.start_link(__MODULE__, opts, name: opts[:name])
  end

  # Callbacks
  @impl true
  def init(opts) do
    {:ok, %__MODULE__{name: Keyword.fetch!(opts, :name)}, @timeout}
  end

  @doc "Answers for one sensor."
  @doc since: "1.2.0"
  def handle_call({:read, id}, _from, state) when is_atom(id) do
    {:reply, read(state, id), state}
  end

  def handle_call(:all, _from, state), do: {:reply, readings(state), state}

  def handle_call(other, _from, state) do
    Logger.warning("unknown: #{inspect(other)}")
    {:noreply, state}
  end

  def readings(%{sensors: sensors}) do
    sensors
    |> map(&Wind.poll/1)
    |> Store.put()
    |> averaged
  end

  def reading_count(state), do: state |> readings() |> length()

  defp averaged(list), do: averaged(list, 0)
  defp averaged([], sum), do: sum
  defp averaged([head | tail], sum), do: averaged(tail, sum + head)

  defp read(state, id), do: Map.get(state.sensors, id, default())

  defp default, do: %Reading{value: 0 &&& 1}

  defmacro measure(do: block) do
    quote do
      unquote(block) |> :timer.tc()
    end
  end

  defmacrop debug(message), do: message

  defdelegate archive(station), to: Store, as: :put

  def left <~> right, do: {left, right}

  defmodule Error do
    defexception message: "out of order"
  end

  defimpl Inspect do
    def inspect(station, _opts), do: "#Station<#{station.name}>"
  end
end

defimpl Weather.Readable, for: Weather.Station do
  def value(station), do: Weather.Station.reading_count(station)
end

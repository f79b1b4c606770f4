global using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using static System.Math;
using Readings = System.Collections.Generic.Dictionary<string, double>;

[assembly: CLSCompliant(true)]

namespace Greenhouse.Climate;

/// <summary>How a sensor speaks.</summary>
public enum Protocol : byte
{
    Analog,
    Modbus = 3,
}

/// <summary>Called when a reading leaves its band.</summary>
public delegate void Alarm<in TReading>(TReading reading, string why);

public interface ISensor
{
    string Name { get; }

    Task<double> ReadAsync(int retries = 3);
}

/// <summary>
/// A place in the house.
/// </summary>
public readonly record struct Bed(int Row, int Column);

public record Reading(string Sensor, double Value)
{
    public bool IsDry => Value < Threshold;

    public const double Threshold = 0.25, Saturation = 0.9;
}

/// <summary>Keeps every sensor of one house.</summary>
[Serializable, Obsolete("use HouseV2", error: false)]
public sealed class House<TSensor> : IDisposable, IEnumerable<TSensor>
    where TSensor : class, ISensor
{
    private readonly List<TSensor> _sensors = new();
    private static int created = 0, Émigrés;

    public event Alarm<Reading>? Drought;

    public event EventHandler Closed
    {
        add { created++; }
        remove { created--; }
    }

    public House(IEnumerable<TSensor> sensors) : this()
    {
        _sensors.AddRange(sensors);
        Émigrés = Max(created, 1);
    }

    private House() { }

    ~House() => Dispose();

    public int Count { get; private set; } = 0;

    public TSensor this[int index, /* only for tests */ bool wrap]
    {
        get => _sensors[wrap ? index % Count : index];
    }

    public static House<TSensor> operator +(House<TSensor> left, House<TSensor> right) => left.Join(right);

    public static explicit operator int(House<TSensor> house) => house.Count;

    /// <summary>Reads all sensors, the slow ones last.</summary>
    // The order matters to the pump.
    public async Task<Readings> ReadAllAsync<TKey>(
        Func<TSensor, TKey> order, // smallest first
        int retries = 3)
        where TKey : IComparable<TKey>
    {
        var result = new Readings();
        foreach (var sensor in Sorted(order))
        {
            double value = await sensor.ReadAsync(retries);
            result.Add(sensor.Name, value);
            Drought?.Invoke(new Reading(sensor.Name, value), nameof(Drought));
        }

        return result;

        IEnumerable<TSensor> Sorted(Func<TSensor, TKey> by) => Order.Stable<TSensor, TKey>(_sensors, by);
    }

    void IDisposable.Dispose() => GC.SuppressFinalize(this);

    private House<TSensor> Join(House<TSensor> other) => new House<TSensor>(other._sensors);

    private sealed class Order
    {
        internal static IEnumerable<T> Stable<T, TKey>(IEnumerable<T> items, Func<T, TKey> by) => items;
    }
}

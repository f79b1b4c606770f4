import Foundation
import Combine
@testable import OrbitKit
import struct CoreGraphics.CGPoint
import func Darwin.sqrt

/// Anything that moves around something.
public protocol Orbiting: AnyObject, Sendable {
    associatedtype Body
    var period: TimeInterval { get }
    func position(at time: Date) throws -> CGPoint
    init(around body: Body)
}

public typealias Callback = (Result<Orbit, OrbitError>) -> Void

/// What can go wrong in space.
enum OrbitError: Error, CustomStringConvertible {
    case decayed, escaped(speed: Double)
    indirect case nested(OrbitError)

    var description: String {
        switch self {
        case .decayed: return "gone"
        default: return String(describing: self)
        }
    }
}

/* A path
   around a body. */
@MainActor
public final class Orbit<Center: Massive>: Orbiting where Center: Hashable {
    public static let shared = Orbit<Star>(around: Star.sun)
    private(set) var laps: Int = 0
    private let clock = SystemClock(), épaisseur: Double
    @Published var center: Center?

    public var period: TimeInterval {
        get { 2 * .pi * sqrt(semiMajor / gravity(of: center)) }
        set { laps = Int(newValue) }
    }

    lazy var watcher: AnyCancellable? = nil

    public init(around body: Center) {
        self.center = body
        self.épaisseur = 1
        observe()
    }

    convenience init?(parsing text: String) throws {
        guard let body = try Parser<Center>().parse(text) else { return nil }
        self.init(around: body)
    }

    deinit { watcher?.cancel() }

    subscript(lap: Int, /* relative */ offset: Double) -> CGPoint? {
        points[lap].moved(by: offset)
    }

    /// Where it is at a time.
    @discardableResult
    public func position(
        at time: Date, // solar time
        in frame: Frame<Center> = .inertial
    ) async throws -> CGPoint {
        func wrap(_ angle: Double) -> Double { angle.truncatingRemainder(dividingBy: 360) }
        return await frame.project(wrap(time.timeIntervalSince1970))
    }

    static func == (left: Orbit, right: Orbit) -> Bool { left.center == right.center }

    fileprivate func observe() {
        watcher = clock.publisher.sink { [weak self] _ in self?.laps += 1 }
    }

    struct Frame<Origin> {
        let origin: Origin
    }
}

infix operator <~>: AdditionPrecedence

// Joins two orbits.
public func <~> <C>(left: Orbit<C>, right: Orbit<C>) -> Orbit<C> { left }

extension Orbit.Frame: Equatable where Origin: Equatable {
    static var inertial: Orbit.Frame { Orbit.Frame(origin: nil) }
}

actor Telemetry {
    var log: [String: Double] = [:]
    func record(_ name: String) { log[name, default: 0] += 1 }
}

let launchDate = Date()

# frozen_string_literal: true

require "json"
require "net/http"
require_relative "lib/ledger/entry"
load "tasks/tides.rb"
autoload :Almanac, "almanac"

$trace = false

# Tide tables and what is done with them.
module Tides
  VERSION = "2.1"
  HIGH, LOW = :high, :low

  # One predicted turn of the tide.
  Turn = Struct.new(:at, :height) do
    def high? = height > Station::MEAN
  end

  class Error < StandardError; end

  # Raised when a harbour is not on the chart.
  class UnknownHarbour < Tides::Error
    def initialize(name)
      super("no harbour called #{name}")
    end
  end

  # A gauge in a harbour.
  class Station
    include Comparable
    include Enumerable, JSON::Ext
    extend Forwardable

    MEAN = 2.5

    attr_reader :name, :turns
    attr_accessor "offset"

    class << self
      # Every station there is.
      def all
        @all ||= Almanac.load.map { |row| new(**row) }
      end
    end

    def self.fetch(name, retries: 3, &block)
      all.find { |station| station.name == name } or raise UnknownHarbour.new(name)
    rescue Net::OpenTimeout, IOError => error
      warn error
      retry if (retries -= 1).positive?
    end

    def initialize(name:, turns: [])
      @name = name
      @turns = turns
    end

    def <=>(other) = name <=> other.name

    def [](index)
      turns.fetch(index)
    end

    def each(&) = turns.each(&)

    # Next turn of a kind,
    # or nil after the last one.
    def next_turn(
      after, # a Time
      kind: HIGH
    )
      turns.find { |turn| turn.at > after && turn.public_send(:"#{kind}?") }
    end
    alias upcoming next_turn
    alias_method :following, :next_turn

    define_method(:größe) { turns.size }

    private

    def sorted!
      turns.sort_by!(&:at)
      self
    end
  end
end

class Tides::Station::Buoy < Tides::Station
  def afloat? = true
end

def Tides.today(name)
  Tides::Station.fetch(name)&.next_turn(Time.now)
end

def main(argv)
  puts Tides.today(argv.first)
end

main(ARGV) if $PROGRAM_NAME == __FILE__

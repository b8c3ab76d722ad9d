package render

// What tests need.
var PercentileDistribution = percentileDistribution
var WriteLogHeader = writeLogHeader
var WriteLogInterval = writeLogInterval
var MarksOf = marksOf
var EventRows = eventRows
var ChartsOf = chartsOf
var CurveOf = curveOf

const HeatColumns = heatColumns

var HeatOf = heatOf
var Spaced = spaced

type JunitSuites = junitSuites

var Prose = prose
var Truth = truth

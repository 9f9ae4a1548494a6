// The steps of a timeline, of which the page holds all that it will ever know.

// As the server answers: of a stretch of steps, or of all where there is none.
export const held = (all) => async (range) => (range ? cut(all, ...range) : all);

function cut(all, from, to) {
  const { parts, ...columns } = all.columns;
  const count = columns.end.length;
  const first = columns.end.filter((step) => step <= from).length;
  const last = columns.begin.filter((step) => step < to).length;
  const of = (values) => values.slice(first, last);
  const ofEach = (lists) => Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, of(values)]));
  // As many intervals to each column as the server gives them.
  const before = (place) => (count ? Math.floor(place * all.intervals / count) : 0);
  const isInside = (step) => step >= from && step <= to;
  return {
    ...all, from, to,
    outliers: all.outliers.filter(({ step }) => isInside(step)),
    intervals: before(last) - before(first),
    columns: { ...ofEach(columns), parts: ofEach(parts) },
    // Of very many outliers the longest alone are held, but all are counted.
    outliers_in_range: all.outlier_steps.filter(isInside).length,
    captures: all.captures.filter((each) => each.first <= to && each.last >= from),
  };
}

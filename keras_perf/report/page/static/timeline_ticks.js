// Round numbers between two others, about so many.
export function ticks(from, to, count) {
  const rough = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let place = Math.ceil(from / by); place * by <= to; place += 1) found.push(Number((place * by).toPrecision(12)));
  return found;
}

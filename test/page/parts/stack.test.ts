import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvOf } from '../../../src/page/parts/csv.ts';
import { type Layer, layersOf, stacked } from '../../../src/page/parts/stack.ts';

const PLACES = ['00:00', '01:00', '02:00'];
const cells = fc.array(
  fc.record({
    at: fc.constantFrom(...PLACES, 'elsewhere'),
    name: fc.string({ maxLength: 2 }),
    value: fc.integer({ min: 0, max: 1_000_000_000 }),
  }),
);
type Cells = { at: string; name: string; value: number }[];

/** Whether the layers have all that was spent at the places, and no more, the largest first. */
function holds(layersIn: (of: Cells, places: readonly string[]) => Layer[], of: Cells): boolean {
  const layers = layersIn(of, PLACES);
  const edge = stacked(layers).at(-1) ?? PLACES.map(() => 0);
  const spent = PLACES.map((place) => of.reduce((sum, { at, value }) => sum + (at === place ? value : 0), 0));
  const totals = layers.map(({ total }) => total);
  const isSorted = totals.slice(0, -1).every((total, i) => i === 0 || total <= (totals[i - 1] ?? 0));
  return String(edge) === String(spent) && layers.length <= 7 && isSorted;
}

test('layers have all that was spent, whatever is merged', () => {
  fc.assert(fc.property(cells, (of) => holds(layersOf, of)));
});

test('layers that drop the smallest, or keep the last of a name alone, are found out', () => {
  const dropping = (of: Cells, places: readonly string[]) =>
    layersOf(of, places).filter(({ name }) => !name.endsWith('others'));
  const overwriting = (of: Cells, places: readonly string[]) =>
    layersOf([...new Map(of.map((cell) => [`${cell.at} ${cell.name}`, cell])).values()], places);
  for (const broken of [dropping, overwriting])
    expect(
      fc.check(
        fc.property(cells, (of) => holds(broken, of)),
        { numRuns: 1_000 },
      ).failed,
    ).toBe(true);
});

test('a table as CSV is quoted, and runs nothing in a spreadsheet', () => {
  const rows = [
    { model: '=HYPERLINK("x")', cost_usd: -1 },
    { model: 'a,b', day: '2026-11-20' },
  ];
  expect(csvOf(rows)).toBe(`model,cost_usd,day\r\n"'=HYPERLINK(""x"")",-1,\r\n"a,b",,2026-11-20\r\n`);
});

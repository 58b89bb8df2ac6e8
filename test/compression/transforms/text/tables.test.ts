import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress } from '../../../../src/compression/conversation/compress.ts';
import { unpadTables } from '../../../../src/compression/transforms/text/tables.ts';

const padded = [
  '| Place        | Cost |  Note     |',
  '|:-------------|-----:|-----------|',
  '| Oslo         |   30 |  a \\|  b  |',
  '| New York     |  900 |           |',
];

describe('unpadTables()', () => {
  it('drops what lines the columns up', () => {
    expect(unpadTables(['Text   with |  blanks', ...padded, 'End.'].join('\n')).split('\n')).toEqual([
      'Text   with |  blanks',
      '| Place | Cost | Note |',
      '|:---|---:|---|',
      '| Oslo | 30 | a \\|  b |',
      '| New York | 900 | |',
      'End.',
    ]);
  });

  it('leaves a table in its item of a list', () => {
    const item = (rows: string[]) => ['- Places:', '', ...rows.map((row) => `  ${row}`)].join('\n');
    expect(unpadTables(item(['| Place  |', '|--------|', '| Oslo   |']))).toBe(
      item(['| Place |', '|---|', '| Oslo |']),
    );
  });

  it.each([
    ['blanks that are shown', '| a |\n|---|\n| \u00a0\u00a0b |'],
    ['a fence', ['```', ...padded, '```'].join('\n')],
    ['a fence in a fence', ['````markdown', '```', ...padded, '```', '````'].join('\n')],
    ['rows without a line under the head', [padded[0], padded[2]].join('\n')],
    ['a table without padding', '|a|b|\n|---|---|\n|1|2|'],
  ])('leaves %s', (_, text) => {
    expect(unpadTables(text)).toBe(text);
  });

  it('keeps every cell, and never grows, for 10,000 tables', () => {
    const blank = fc.constantFrom('', ' ', '   ', '\t');
    const cell = fc.tuple(blank, fc.constantFrom('', 'x', 'a  b', '\\|', '-', '---', '`c`', 'é'), blank);
    const row = fc.array(cell, { minLength: 1, maxLength: 4 });
    const cellsOf = (line: string) =>
      line
        .trim()
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim());
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const lines = rows.map((cells) => `|${cells.map((cell) => cell.join('')).join('|')}|`);
        lines.splice(1, 0, '| ------ | :---- |');
        const out = unpadTables(lines.join('\n'));
        expect(out.length).toBeLessThanOrEqual(lines.join('\n').length);
        expect(unpadTables(out)).toBe(out);
        const dashes = (line: string[]) => line.map((cell) => cell.replace(/^(:?)-{3,}(:?)$/, '$1---$2'));
        expect(out.split('\n').map((line) => dashes(cellsOf(line)))).toEqual(
          lines.map((line) => dashes(cellsOf(line))),
        );
      }),
      { numRuns: 10_000 },
    );
  });
});

describe('an answer with a table', () => {
  const rows = Array.from(
    { length: 80 },
    (_, i) => `| ${`place ${i}`.padEnd(30)} | ${String(i * 7).padStart(12)} |`,
  );
  const content = `Here it is:\n\n| ${'Place'.padEnd(30)} | ${'Cost'.padStart(12)} |\n|${'-'.repeat(32)}|${'-'.repeat(14)}|\n${rows.join('\n')}\n`;

  it('loses its padding at level safe; what a user pastes of it, refers to it', () => {
    const messages = [
      { role: 'assistant', content },
      { role: 'user', content: `You wrote:\n${content}\nWhy?` },
    ];
    const out = compress(messages, { level: 'safe' }).messages.map((message) => String(message.content));
    expect(out[0]).toContain('| place 7 | 49 |');
    expect(out[1]?.length).toBeLessThan(300);
    expect(out[1]).toContain('[gw: lines ');
  });

  it('stays as the user or a tool has it', () => {
    for (const role of ['user', 'tool']) {
      const [out] = compress([{ role, content }], { level: 'safe' }).messages;
      expect(out?.content).not.toContain('| place 7 | 49 |');
    }
  });
});

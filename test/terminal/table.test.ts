import { expect, test } from 'vitest';
import { BLOCKS } from '../../src/terminal/bars.ts';
import { PLAIN } from '../../src/terminal/palette.ts';
import { type Column, table } from '../../src/terminal/table.ts';
import type { Terminal } from '../../src/terminal/terminal.ts';

const terminal = (columns: number): Terminal => ({
  ...{ columns, textColumns: columns },
  ...{ palette: PLAIN, symbols: BLOCKS },
});

interface Row {
  name: string;
  size: string;
}

const COLUMNS: Column<Row>[] = [
  { header: 'name', value: ({ name }) => name, shrinks: true },
  { header: 'size', value: ({ size }) => size, align: 'right' },
];

test('table() aligns columns by display width, not by length', () => {
  const rows = [
    { name: '漢字', size: '1' },
    { name: 'plain', size: '1,234' },
  ];
  expect(table(rows, COLUMNS, { terminal: terminal(80) })).toEqual([
    'name    size',
    '漢字       1',
    'plain  1,234',
  ]);
});

test('table() cuts shrinkable columns on a narrow terminal', () => {
  const rows = [{ name: 'a-very-long-name-of-a-model', size: '12' }];
  expect(table(rows, COLUMNS, { terminal: terminal(20) })).toEqual([
    'name            size',
    'a-very-l…model    12',
  ]);
});

test('table() gives the remaining width to a bar, and drops it if that is too little', () => {
  const filled: Column<Row>[] = [
    ...COLUMNS,
    { header: '', value: (_row, width) => '#'.repeat(width), fills: 10 },
  ];
  const rows = [{ name: 'abcd', size: '1' }];
  expect(table(rows, filled, { terminal: terminal(40) })[1]).toBe('abcd     1  ##########');
  expect(table(rows, filled, { terminal: terminal(18) })[1]).toBe('abcd     1  ######');
  expect(table(rows, filled, { terminal: terminal(14) })[1]).toBe('abcd     1');
});

test('table() never cuts a last column that wraps: beside the others, or below them without room for it', () => {
  const wrapped: Column<Row & { note: string }>[] = [
    ...COLUMNS,
    { header: 'note', value: ({ note }) => note, wraps: true },
  ];
  const rows = [
    { name: 'a', size: '1', note: 'gpt-4.1, gpt-4.1-mini, 模型-強い' },
    { name: 'b', size: '2', note: '' },
  ];
  expect(table(rows, wrapped, { terminal: terminal(80) })).toEqual([
    'name  size  note',
    'a        1  gpt-4.1, gpt-4.1-mini, 模型-強い',
    'b        2',
  ]);
  expect(table(rows, wrapped, { terminal: terminal(34) })).toEqual([
    'name  size  note',
    'a        1  gpt-4.1, gpt-4.1-mini,',
    '            模型-強い',
    'b        2',
  ]);
  expect(table(rows, wrapped, { terminal: terminal(28) })).toEqual([
    'name  size',
    'a        1',
    '    gpt-4.1, gpt-4.1-mini,',
    '    模型-強い',
    'b        2',
  ]);
});

test('table() separates the total with a rule', () => {
  const lines = table([{ name: 'a', size: '1' }], COLUMNS, {
    terminal: terminal(80),
    total: { name: 'total', size: '1' },
  });
  expect(lines.slice(2)).toEqual(['───────────', 'total     1']);
});

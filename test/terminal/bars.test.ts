import { describe, expect, test } from 'vitest';
import { ASCII, BLOCKS, bar, gauge } from '../../src/terminal/bars.ts';

describe('bar()', () => {
  test('is as long as its share, to an eighth of a cell', () => {
    expect(bar(1, 4, BLOCKS)).toBe('████');
    expect(bar(0.5, 4, BLOCKS)).toBe('██');
    expect(bar(0.28, 4, BLOCKS)).toBe('█▏');
    expect(bar(0.5, 4, ASCII)).toBe('##');
  });

  test('is visible for any share above zero, and empty for zero', () => {
    expect(bar(0.0001, 4, BLOCKS)).toBe('▏');
    expect(bar(0, 4, BLOCKS)).toBe('');
  });
});

describe('gauge()', () => {
  test('shows the unfilled part', () => {
    expect(gauge(0.25, 8, BLOCKS)).toBe('██░░░░░░');
    expect(gauge(0, 4, ASCII)).toBe('....');
  });

  test('is full only at a share of 1', () => {
    expect(gauge(0.999, 8, ASCII)).toBe('#######.');
    expect(gauge(1, 8, ASCII)).toBe('########');
    expect(gauge(16, 8, ASCII)).toBe('########');
  });
});

import { describe, expect, test } from 'vitest';
import { ASCII, BLOCKS, bar, gauge } from '../../src/terminal/bars.ts';

describe('bar()', () => {
  test('is as long as the share, to an eighth of a cell', () => {
    expect(bar(1, 4, BLOCKS)).toBe('████');
    expect(bar(0.5, 4, BLOCKS)).toBe('██');
    expect(bar(0.28, 4, BLOCKS)).toBe('█▏');
    expect(bar(0.5, 4, ASCII)).toBe('##');
  });

  test('shows the least sign for whatever is above nothing, and nothing for nothing', () => {
    expect(bar(0.0001, 4, BLOCKS)).toBe('▏');
    expect(bar(0, 4, BLOCKS)).toBe('');
  });
});

describe('gauge()', () => {
  test('shows what is left too', () => {
    expect(gauge(0.25, 8, BLOCKS)).toBe('██░░░░░░');
    expect(gauge(0, 4, ASCII)).toBe('....');
  });

  test('is full only when the share is', () => {
    expect(gauge(0.999, 8, ASCII)).toBe('#######.');
    expect(gauge(1, 8, ASCII)).toBe('########');
    expect(gauge(16, 8, ASCII)).toBe('########');
  });
});

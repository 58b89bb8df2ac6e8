import { describe, expect, it } from 'vitest';
import { Shortener } from '../../../../src/compression/transforms/documents/select.ts';

const terms = new Set(['rabbit']);
const first = 'The hills above the town were bare for most of the year, and few went there after dark. ';
const about = 'Only a rabbit or two lived between the stones, as the old shepherd liked to tell. ';
const other = 'The market was held on Tuesdays, and on every second Friday in the months of summer. ';
const last = 'Nothing else is known of the place before the railway came to it in a later century.';
const text = `[3] The hills\n${first}${about}${other}${last}\n`;

function shortener(whole: number[] = []): Shortener {
  return new Shortener({ whole: new Set(whole), terms });
}

describe('a document', () => {
  it('keeps its heading, how it begins and the sentences that hold a word of the question', () => {
    const one = shortener();
    expect(one.shorten(text, 2)).toBe(`[3] The hills\n${first}${about}…\n`);
    expect(one.hasGaps).toBe(true);
  });

  it('that is to stay whole does', () => {
    const one = shortener([2]);
    expect(one.shorten(text, 2)).toBe(text);
    expect(one.hasGaps).toBe(false);
  });

  it('does not say again what one before it has said', () => {
    const one = shortener([2, 3]);
    one.shorten(text, 2);
    expect(one.shorten(`[4] The hills, too\n${other}${last} But later it grew.\n`, 3)).toBe(
      '[4] The hills, too\n… But later it grew.\n',
    );
  });

  it('is cut in time that grows with its length', () => {
    const long = `${'a.'.repeat(90_000)}\n${'. '.repeat(90_000)}\n${'A. '.repeat(60_000)}`;
    const start = performance.now();
    shortener().shorten(long, 0);
    expect(performance.now() - start).toBeLessThan(8_000);
  });
});

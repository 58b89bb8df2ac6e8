import { expect, it } from 'vitest';
import { tokenBound } from '../../src/tokens/encoding.ts';

it('tokenBound() is the length in UTF-8, of bytes and of text', () => {
  expect(tokenBound('')).toBe(0);
  expect(tokenBound('añ中😀')).toBe(1 + 2 + 3 + 4);
  expect(tokenBound(Buffer.from('añ中😀'))).toBe(10);
});

it('tokenBound() counts a lone surrogate as the U+FFFD that it is sent as', () => {
  expect(tokenBound('\ud83d')).toBe(3);
});

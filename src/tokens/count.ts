import { type CountPiece, createPieceCounter } from './bpe.ts';
import type { Encoding } from './encoding.ts';
import { endOfPiece } from './pieces.ts';
import { readPackedRanks, unpackRanks } from './ranks.ts';

const pieceCounters = new Map<Encoding, CountPiece>();

/**
 * The exact number of tokens of a text. Names of special tokens, such as <|endoftext|>, count as plain text, as they do
 * in messages. The first call loads the rank table, which takes 100 ms; large texts are slow too. Outside worker
 * threads use `createTokenCounter`.
 */
export function countTokens(text: string, encoding: Encoding): number {
  const countPiece = pieceCounterOf(encoding);
  const endOf = endOfPiece[encoding];
  const bytes = new TextEncoder().encode(text);
  let tokens = 0;
  for (let start = 0; start < bytes.length; ) {
    const end = endOf(bytes, start);
    tokens += countPiece(bytes, start, end);
    start = end;
  }
  return tokens;
}

function pieceCounterOf(encoding: Encoding): CountPiece {
  const cached = pieceCounters.get(encoding);
  if (cached) return cached;
  const counter = createPieceCounter(unpackRanks(readPackedRanks(encoding)));
  pieceCounters.set(encoding, counter);
  return counter;
}

import { type CountPiece, createPieceCounter } from './bpe.ts';
import type { Encoding } from './encoding.ts';
import { endOfPiece } from './pieces.ts';
import { readPackedRanks, unpackRanks } from './ranks.ts';

const pieceCounters = new Map<Encoding, CountPiece>();

/**
 * The exact number of tokens of a text. Names of special tokens, such as <|endoftext|>, count as the text they are,
 * as a provider reads them in a message. The first count loads a table, and a large text takes as long (100 ms):
 * outside of worker threads use `createTokenCounter`.
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
  const known = pieceCounters.get(encoding);
  if (known) return known;
  const made = createPieceCounter(unpackRanks(readPackedRanks(encoding)));
  pieceCounters.set(encoding, made);
  return made;
}

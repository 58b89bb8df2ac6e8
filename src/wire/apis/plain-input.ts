import { type Member, readValue } from '../../json/scan.ts';
import { type BlockReader, UnboundedInput } from '../request/prompt-blocks.ts';

/** Accepts texts, token ids, and lists of them. Anything else may refer to content outside the request. */
export function readPlainInput({ bytes }: BlockReader, member: Member): void {
  const value = readValue(bytes, member);
  if (!isPlain(value) && !(Array.isArray(value) && value.every((each) => isPlain(each) || isTokens(each))))
    throw new UnboundedInput(`an object in "${member.key}"`);
}

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';
const isTokens = (value: unknown): boolean =>
  Array.isArray(value) && value.every((token) => typeof token === 'number');

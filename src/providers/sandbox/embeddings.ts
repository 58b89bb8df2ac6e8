import { createHash } from 'node:crypto';
import { z } from 'zod';
import { findModel } from './model.ts';
import { parseBody } from './request.ts';
import { countText } from './tokens.ts';

const DIMENSIONS = 256;

const embeddingRequest = z.looseObject({
  model: z.string(),
  input: z.union([
    z.string(),
    z.array(z.string()).min(1).max(2048),
    z.array(z.int()).min(1),
    z.array(z.array(z.int())).min(1).max(2048),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(DIMENSIONS).nullish(),
});

/** Answers an embeddings request: https://platform.openai.com/docs/api-reference/embeddings */
export function embed(body: Buffer) {
  const { model, input, encoding_format, dimensions } = parseBody(embeddingRequest, body);
  const { error } = findModel(model);
  if (error) throw error();
  const texts = textsOf(input);
  const tokens = texts.reduce((sum, text) => sum + countText(text), 0);
  return {
    object: 'list',
    data: texts.map((text, index) => {
      const vector = vectorOf(text, dimensions ?? DIMENSIONS);
      const embedding =
        encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { object: 'embedding', index, embedding };
    }),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** The input texts. Token ids are treated as words. */
function textsOf(input: string | string[] | number[] | number[][]): string[] {
  if (typeof input === 'string') return [input];
  if (input.every((each) => typeof each === 'number')) return [input.join(' ')];
  return input.map((each) => (Array.isArray(each) ? each.join(' ') : String(each)));
}

/** A unit vector with one hashed dimension per word, so that texts with common words are similar. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of ['', ...text.toLowerCase().split(/\W+/u)]) {
    const hash = createHash('sha256').update(word).digest();
    const at = hash.readUInt32BE() % dimensions;
    vector[at] = (vector[at] ?? 0) + ((hash[4] ?? 0) % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

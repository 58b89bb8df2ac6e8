// node test/tokens/bench.mjs, after a build: milliseconds for o200k_base, and how many times faster than js-tiktoken.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Tiktoken } from 'js-tiktoken/lite';
import ranks from 'js-tiktoken/ranks/o200k_base';
import { countTokens } from '../../dist/tokens/count.js';

const resolve = createRequire(import.meta.url).resolve;
const installed = (file) => readFileSync(resolve(file), 'utf8').slice(0, 100_000);
const random = Buffer.from(Array.from({ length: 750_000 }, (_, i) => Math.imul(i, 2_654_435_761) >>> 13));
const texts = {
  prose: installed('../../node_modules/commander/Readme.md'),
  code: installed('undici/lib/dispatcher/client-h1.js'),
  'a x 1,000': 'a'.repeat(1000),
  'a x 4,000': 'a'.repeat(4000),
  'a x 1 MB': 'a'.repeat(1e6),
  'spaces, 1 MB': ' '.repeat(1e6),
  'Chinese, 1 MB': '机器学习是人工智能的一个分支'.repeat(23_810),
  'emoji, 1 MB': '👩‍🚀😀👍🏽'.repeat(43_478),
  'base64, 1 MB': random.toString('base64'),
  'random bytes, 1 MB': random.toString('latin1'),
};
for (let i = 0; i < 20; i++) countTokens(texts.prose, 'o200k_base'); // as a warm worker would
const reference = new Tiktoken(ranks);

for (const [name, text] of Object.entries(texts)) {
  const ours = medianMs(() => countTokens(text, 'o200k_base'));
  const quick = text.length === 1000 || name === 'prose' || name === 'code';
  const theirs = quick ? medianMs(() => reference.encode(text, [], [])) : undefined;
  const ratio = theirs === undefined ? '' : `${(theirs / ours).toFixed(1)} x faster`;
  console.log(
    `${name.padEnd(20)} ${String(text.length).padStart(8)} chars ${ours.toFixed(2).padStart(8)} ms  ${ratio}`,
  );
}

function medianMs(run) {
  const times = Array.from({ length: 15 }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[7];
}

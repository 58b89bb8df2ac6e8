import { readFileSync } from 'node:fs';
import { calcPrice } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { costOf } from '../../src/pricing/cost.ts';
import { LIBRARY_PROVIDERS } from '../../src/pricing/library.ts';
import { readReport, usageRules } from '../../src/pricing/usage-payload.ts';

interface Reported {
  provider: string;
  endpoint: string;
  model: string;
  /** As a provider reported it, without times and tiers. */
  usage: object;
  /** What the price library reads in it. */
  tokens: { input: number; cached: number; written: number; output: number };
}

/**
 * Usage that providers reported to the test suite of pydantic-ai, one for each shape, with what the price library reads in
 * it: https://github.com/pydantic/genai-prices/blob/main/tests/dataset/usages.json. Mistral's cached tokens, which it does
 * not read there, are added.
 */
const REPORTS = JSON.parse(
  readFileSync(new URL('./library-reports.json', import.meta.url), 'utf8'),
) as Reported[];
const NOW = Date.parse('2026-11-20T12:00:00Z');
const catalog = createCatalog({ now: () => NOW });

test.each(REPORTS.map((report, i) => [`${i} ${report.provider} ${report.model}`, report] as const))(
  "the price library's case %s",
  (_, { provider, endpoint, model, usage, tokens }) => {
    const report = readReport(usage, usageRules(provider, model, endpoint));
    const read = report?.usage;
    expect({
      input: read?.inputTokens,
      cached: read?.cachedInputTokens,
      written: (read?.cacheWriteTokens ?? 0) + (read?.cacheWrite1hTokens ?? 0),
      output: read?.outputTokens,
    }).toEqual(tokens);
    expect(report?.conflicts).toEqual([]);
    const card = catalog.find(provider, model);
    const providerId = LIBRARY_PROVIDERS.get(provider) ?? '';
    const priced = calcPrice(
      {
        input_tokens: tokens.input,
        cache_read_tokens: tokens.cached,
        cache_write_tokens: tokens.written,
        output_tokens: tokens.output,
      },
      model,
      { providerId, timestamp: new Date(NOW) },
    );
    if (read && card && priced)
      expect(costOf(read, card)).toBe(Math.max(0, Math.ceil(priced.total_price * 1e9 - 1e-3)));
  },
);

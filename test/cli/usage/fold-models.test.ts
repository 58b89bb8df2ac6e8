import { expect, test } from 'vitest';
import { foldModels } from '../../../src/cli/usage/fold-models.ts';
import type { UsageView, UsageViewRow } from '../../../src/operations/schemas/usage.ts';

const row = (model: string, cost_nano_usd: number, rest: object = {}) =>
  ({
    ...{ model, requests: 1, cost_nano_usd, cost_usd: cost_nano_usd / 1e9 },
    ...{ saved_nano_usd: 0, missed_nano_usd: 0, ...rest },
  }) as UsageViewRow;

const fold = (...data: UsageViewRow[]) => foldModels({ group_by: 'agent,model', data } as UsageView).data;

test("hosts of one model become one row, by its maker's name", () => {
  const rows = fold(
    row('gpt-5.4', 5),
    row('eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 100_000_001),
    row('claude-sonnet-4-5@20250929', 200_000_002),
    row('anthropic/claude-sonnet-4-5', 3),
    row('us.amazon.nova-pro-v1:0', 1),
  );
  expect(rows.map(({ model, requests, cost_nano_usd }) => [model, requests, cost_nano_usd])).toEqual([
    ['claude-sonnet-4-5', 3, 300_000_006],
    ['gpt-5.4', 1, 5],
    ['nova-pro-v1:0', 1, 1],
  ]);
  expect(rows[0]?.cost_usd).toBe(0.300000006);
});

test('rows of two things stay apart by the other', () => {
  const rows = fold(
    row('claude-opus-5', 1, { agent: 'claude' }),
    row('us.anthropic.claude-opus-5', 2, { agent: 'claude' }),
    row('claude-opus-5', 4, { agent: 'pi' }),
  );
  expect(rows.map(({ agent, cost_nano_usd }) => [agent, cost_nano_usd])).toEqual([
    ['pi', 4],
    ['claude', 3],
  ]);
});

// The rooms whose tests are tried on mutants: their sources, and the tests that are to notice.
export const ROOMS = {
  admission: {
    sources: ['src/gateway/admission'],
    tests: [
      'test/gateway/admission',
      ...journeys(
        'holds',
        'used-caps',
        'output-limits',
        'provider-count',
        'tool-fees',
        'context-size',
        'refusals',
      ),
      ...journeys('fallbacks', 'target-budgets', 'public-reports', 'compressed-prefix', 'gate'),
      ...journeys('other-models', 'failover-caps'),
    ],
  },
  ledger: {
    sources: ['src/store/ledger', 'src/store/budgets'],
    tests: [
      'test/store/ledger',
      'test/store/budgets',
      ...journeys('budgets', 'asks', 'scoped-budgets', 'ledger-rows'),
    ],
  },
  metering: {
    sources: ['src/gateway/metering', 'src/wire/answer', 'src/pricing'],
    tests: [
      ...['test/gateway/metering', 'test/wire', 'test/pricing', 'test/gateway/answer'],
      ...journeys('bill', 'missing-usage', 'tool-fees', 'streams', 'client-gone', 'media'),
    ],
  },
  bridge: {
    sources: ['src/translation'],
    tests: [
      'test/translation',
      'test/bridge',
      ...journeys('translation', 'responses-translation', 'reasoning-back'),
    ],
  },
  webhooks: {
    sources: ['src/webhooks', 'src/store/webhooks'],
    tests: ['test/webhooks', 'test/store/webhooks'],
  },
};

function journeys(...names) {
  return names.map((name) => `test/journeys/${name}.test.ts`);
}

import { completePrices, createPriceCard, freeCard, type PriceCard } from './price-card.ts';
import { flatRate } from './rate.ts';

/** Runtimes on the user's own machine, which cost nothing. */
const LOCAL_RUNTIMES: ReadonlySet<string> = new Set(['ollama', 'lmstudio', 'vllm']);
const LOCAL_CARD = freeCard('local runtime, free');

/** The sandbox's models have the prices of real ones, so that users can try budgets on them. */
const SANDBOX_CARDS: ReadonlyMap<string, PriceCard> = new Map([
  ['sandbox/echo', sandboxCard('sandbox/echo', { input: 150_000n, cached: 75_000n, output: 600_000n })],
  [
    'sandbox/large',
    sandboxCard('sandbox/large', { input: 2_500_000n, cached: 1_250_000n, output: 10_000_000n }),
  ],
  ['sandbox/free', freeCard('sandbox/free')],
]);

/** The price of a built-in provider's model: the sandbox and the presets of local runtimes. */
export function builtInCard(providerName: string, model: string): PriceCard | undefined {
  if (LOCAL_RUNTIMES.has(providerName)) return LOCAL_CARD;
  if (providerName !== 'sandbox' || !model.startsWith('sandbox/')) return undefined;
  // Fault models, and names that the sandbox itself will refuse, must not fail for lack of a price.
  return SANDBOX_CARDS.get(model) ?? SANDBOX_CARDS.get('sandbox/echo');
}

function sandboxCard(source: string, pico: { input: bigint; cached: bigint; output: bigint }): PriceCard {
  const stated = {
    input: flatRate(pico.input),
    cachedInput: flatRate(pico.cached),
    output: flatRate(pico.output),
  };
  return createPriceCard(source, completePrices(stated, source));
}

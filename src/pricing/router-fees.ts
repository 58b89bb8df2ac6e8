import { flatRate, type Rate } from './rate.ts';

/**
 * Azure's model router, by the name that deployments of it have by default, or `auto` without one. It charges for each
 * input token, in addition to the usage of the model that it chose, which its answer names:
 * https://learn.microsoft.com/en-us/azure/foundry/openai/concepts/model-router-faq; the amount is that of
 * azure.microsoft.com/pricing since November 2025.
 */
const AZURE_ROUTER = /^auto$|model[-_]router/i;
const AZURE_FEE = flatRate(140_000n);

/** What a router charges for each input token beside the model that it chose; undefined if the model is no router. */
export function routerFee(provider: string, model: string): Rate | undefined {
  return provider === 'azure' && AZURE_ROUTER.test(model) ? AZURE_FEE : undefined;
}

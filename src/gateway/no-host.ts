import { GwError } from '../errors.ts';
import { describeError, parseObject } from '../wire/answer/events.ts';
import type { Gateway } from './context/gateway.ts';
import { ceilingOf, type Sending } from './upstream/openrouter-max-price.ts';

/** "No endpoints found that ...", "No allowed providers are available ...", a step that filters "by Max Price". */
const NO_HOST = /no endpoints found|no allowed providers|max[ _]?price/i;

/** What to tell where OpenRouter has no host within the ceiling that gw wrote, of which the client knows nothing. */
export function noHostError(
  { settings }: Pick<Gateway, 'settings'>,
  sending: Sending,
  answer: { body(): string },
): GwError | undefined {
  const ceiling = settings()['admission.host_price'] === 'listed' ? ceilingOf(sending) : undefined;
  const body = ceiling ? answer.body() : '';
  if (!ceiling || !NO_HOST.test(body)) return undefined;
  const { provider, model } = sending.target;
  const said = describeError(parseObject(body)?.error);
  return new GwError(
    `${provider.name} has no host for ${model} to send this request to: ${said}. A budget holds for the listed price, so gw asks ` +
      `for hosts at up to $${priceText(ceiling.prompt)} in and $${priceText(ceiling.completion)} out per million tokens. ` +
      `If they have become dearer: gw prices set ${provider.name}/${model} --input X --output Y. ` +
      'To leave the price to OpenRouter: gw config set admission.host_price any',
    { status: 404, type: 'not_found_error', code: 'no_host_at_price' },
  );
}

const priceText = (usd: number): string => String(Number(usd.toPrecision(6)));

import type { Edit } from '../../json/edit.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { AdmittedRequest } from '../admission/admitted.ts';
import type { Target } from '../state/resolver.ts';

/** The edits that keep the output of a request under a budget within its hold. */
export function outputLimitEdits({ context, target, admitted }: AdmittedRequest): Edit[] {
  const { wire, request } = context;
  const { name, outputLimit } = target.provider;
  const { limit } = admitted;
  if (wire.limitTotal && limitsAnswerAlone(target)) {
    const total = limit ?? request.maxOutputTokens;
    return total === undefined ? [] : wire.limitTotal(request, total);
  }
  const edits = limit === undefined ? [] : wire.limitOutput(request, limit, outputLimit);
  if (wire.nameLimit && Object.hasOwn(PRESETS, name)) edits.push(...wire.nameLimit(request, outputLimit));
  return edits;
}

const ALIBABA = /(^|[./])aliyuncs\.com(:\d+)?$/;
const QWEN = /^qwen\//;

/**
 * Whether `max_tokens` may limit the answer without its reasoning, as at Alibaba for models before qwen4:
 * https://www.alibabacloud.com/help/en/model-studio/api-compatibility-upgrade-notice. There `max_completion_tokens`
 * limits both. OpenRouter passes models of Alibaba's on to it.
 */
function limitsAnswerAlone({ provider, model }: Target): boolean {
  return ALIBABA.test(provider.origin) || (provider.name === 'openrouter' && QWEN.test(model));
}

export interface Answered extends Record<string, unknown> {
  data?: Record<string, unknown>[];
  total?: Record<string, unknown>;
}

/** Fields that only commands read: amounts in nano-USD, and the former names of a budget's fields. */
const INTEGERS = /_nano_usd$|^budget_id$|^remaining_usd$/;

/** An answer as the earlier endpoints give it. */
export function withoutIntegers({ data, total, ...answer }: Answered): object {
  const strip = (fields: object) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !INTEGERS.test(name)));
  return {
    ...strip(answer),
    ...(data && { data: data.map(strip) }),
    ...(total && { total: strip(total) }),
  };
}

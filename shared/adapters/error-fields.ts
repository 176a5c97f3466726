/** A field of any thrown value: Node's own errors are not `instanceof Error` in every realm. */
export function fieldOf(thrown: unknown, field: string): unknown {
  return typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, field) : undefined;
}

export function textOf(thrown: unknown, field: string): string {
  const value = fieldOf(thrown, field);
  return typeof value === 'string' ? value : '';
}

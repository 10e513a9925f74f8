/** Fills the `{name}` places of a path template. A missing value is a bug of the caller and throws. */
export function fillPath(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`path ${template} needs a value for ${name}`);
    return encodeURIComponent(value);
  });
}

// The loops simple and line of recount's kernel matmul, for Java: java MatMul VARIANT N
// VARIANT is ijk (the sum in a variable) or ikj (along the rows of all three matrices). Prints the time of the
// multiplication alone, as the kernel external of recount takes it.
public final class MatMul {
    static void ijk(double[] a, double[] b, double[] c, int n) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    sum += a[i * n + k] * b[k * n + j];
                c[i * n + j] = sum;
            }
    }

    static void ikj(double[] a, double[] b, double[] c, int n) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) {
                final double x = a[i * n + k];
                for (int j = 0; j < n; j++)
                    c[i * n + j] += x * b[k * n + j];
            }
    }

    static double[] matrix(int n, int factor) {
        final double[] m = new double[n * n];
        for (int i = 0; i < m.length; i++)
            m[i] = 1 + (long) i * factor % 7;
        return m;
    }

    static void check(double[] a, double[] b, double[] c, int n, int i, int j) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * b[k * n + j];
        if (sum != c[i * n + j])
            throw new IllegalStateException("wrong product at " + i + ", " + j);
    }

    public static void main(String[] arguments) {
        if (arguments.length != 2)
            throw new IllegalArgumentException("usage: java MatMul ijk|ikj N");
        final int n = Integer.parseInt(arguments[1]);
        final double[] a = matrix(n, 3), b = matrix(n, 5), c = new double[n * n];
        final long begin = System.nanoTime();
        switch (arguments[0]) {
            case "ijk": ijk(a, b, c, n); break;
            case "ikj": ikj(a, b, c, n); break;
            default: throw new IllegalArgumentException("no variant " + arguments[0]);
        }
        final long end = System.nanoTime();
        check(a, b, c, n, 0, n - 1);
        check(a, b, c, n, n - 1, n / 2);
        System.out.println("seconds " + (end - begin) / 1e9);
    }
}

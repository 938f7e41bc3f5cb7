// Loops that are entered in two places.
#include "kernels.cuh"

//= two_entries not UNDECIDED
LOOP void two_entries(float *a, int n) {
    int i = 0;
    if (n & 1) goto odd;
even:
    one<<<4, 128>>>(a, i);
odd:
    two<<<4, 128>>>(a, a, i);
    i++;
    if (i < n) goto even;
}
//= into_the_middle not UNDECIDED
LOOP void into_the_middle(float *a, int n, int k) {
    int i = k;
    switch (k & 1) {
        while (i < n) {
            case 0:
                one<<<4, 128>>>(a, i);
            case 1:
                i += 2;
        }
    }
}

int main() {
    float *a = 0;
    two_entries(a, 5);
    two_entries(a, 6);
    into_the_middle(a, 9, 2);
    into_the_middle(a, 9, 3);
}
